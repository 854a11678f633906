"""What tests of the command line share: how a command ended, and a disk that fills up."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


class Done(NamedTuple):
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str


@contextlib.contextmanager
def full_disk(after: int) -> Iterator[None]:
    """Let no file grow beyond some bytes, so that writes are cut short as on a full disk."""
    # Windows does not have it.
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (after, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
