"""How a command ended, as the tests of the command line look at it."""

from __future__ import annotations

from typing import NamedTuple


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str
