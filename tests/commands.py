"""How a command ended, as the tests of the command line look at it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


@contextlib.contextmanager
def full_disk(after: int) -> Iterator[None]:
    """Let no file grow beyond some bytes: as on a full disk, the write that meets the end is cut short."""
    import resource  # POSIX only

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (after, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
