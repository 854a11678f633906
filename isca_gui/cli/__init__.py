"""The `isca` command: the engine without a window. Imports no Qt, and nothing heavy before it is needed."""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

import isca_gui

if TYPE_CHECKING:
    from collections.abc import Sequence

# Each command is a module beside this one with `add_arguments(parser)` and `run(args) -> exit code`.
COMMANDS = {
    "dataset": "make labelled distorted versions of a picture at exact MSE levels",
    "distort": "distort one picture to an exact MSE",
    "info": "say what a picture or a dataset folder holds",
    "samples": "list the bundled sample pictures",
    "bench": "measure the speed of this machine and program",
    "demo": "run the whole program once on a sample picture and write a report",
}
FAILED, WRONG_USE = 1, 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run the `isca` command; gives its exit code (0 done, 1 the work failed, 2 wrong use)."""
    _use_utf8()
    args = _parser().parse_args(argv)
    previous = signal.signal(signal.SIGTERM, _terminate)
    try:
        return int(importlib.import_module(f"isca_gui.cli.{args.command}").run(args))
    except KeyboardInterrupt:
        print("isca: stopped; nothing half-written is left", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output has gone, as in `isca samples | head -1`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception as error:
        code = _exit_code(error)
        if code is None:
            raise
        print(f"isca: {error}", file=sys.stderr)
        return code
    finally:
        signal.signal(signal.SIGTERM, previous)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="isca",
        description="What was done to a picture, where, how strongly, and how sure. "
        "Wherever an IMAGE is asked for, sample:camera and the like (see 'isca samples') are accepted.",
        epilog="Exit codes: 0 done, 1 the work failed, 2 wrong use. 'isca COMMAND --help' says more.",
    )
    parser.add_argument("--version", action="version", version=f"ISCA Studio {isca_gui.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, sentence in COMMANDS.items():
        module = importlib.import_module(f"isca_gui.cli.{name}")
        module.add_arguments(commands.add_parser(name, help=sentence, description=f"{name}: {sentence}."))
    return parser


def _exit_code(error: Exception) -> int | None:
    """Tell errors with a message for the user from mistakes of the program, which keep their traceback."""
    from isca_gui.core.dataset import DatasetError
    from isca_gui.core.image import ImageError
    from isca_gui.core.settings import SettingsError
    from isca_gui.core.strength import UnreachableError

    if isinstance(error, SettingsError):
        return WRONG_USE
    if isinstance(error, ImageError | DatasetError | UnreachableError | OSError | MemoryError):
        return FAILED
    return None


def _terminate(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _use_utf8() -> None:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
