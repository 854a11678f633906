"""The `isca` command: the engine without a window. Imports no Qt, and nothing heavy before it is needed."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import logging
import os
import re
import signal
import sys
import warnings
from typing import TYPE_CHECKING, NoReturn, TextIO

import isca_gui
from isca_gui.cli import common

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Each command is a module beside this one with `add_arguments(parser)` and `run(args) -> exit code`.
COMMANDS = {
    "dataset": "make labelled distorted versions of a picture at exact MSE levels",
    "distort": "distort one picture to an exact MSE",
    "train": "learn a subspace for every block of a dataset and write a model file",
    "classify": "say what was done to pictures, where, how strongly, and how sure",
    "evaluate": "measure how well a model recognises, or compare methods on one dataset",
    "reconstruct": "project a picture into a model's subspaces and back",
    "bases": "write a model's U, V and J as pictures",
    "reproduce": "run the paper's experiments end to end and write a report",
    "info": "say what a picture, a dataset folder or a model holds",
    "samples": "list the bundled sample pictures",
    "bench": "measure the speed of this machine and program",
    "demo": "run the whole program once on a sample picture and write a report",
}
FAILED, WRONG_USE, FOUND, STOPPED = 1, 2, 3, 130
# By name, so that an error about one module loads no other: the solvers alone take half a second.
_EXIT_CODES = {
    "isca_gui.core.settings.SettingsError": WRONG_USE,
    "isca_gui.core.progress.Cancelled": STOPPED,
    "isca_gui.core.model.model_file.ModelFileError": FAILED,
    "isca_gui.core.distortion.dataset.DatasetError": FAILED,
    "isca_gui.core.pictures.decoding.ImageError": FAILED,
    "isca_gui.core.model.model.NotInvertible": FAILED,
    "isca_gui.core.paper.stage_cache.PaperError": FAILED,
    "isca_gui.core.recognition.recogniser.RecognitionError": FAILED,
    "isca_gui.core.solvers.steps.SolverError": FAILED,
    "isca_gui.core.distortion.strength_search.UnreachableError": FAILED,
    "builtins.OSError": FAILED,
    "builtins.MemoryError": FAILED,
}


def program(argv: Sequence[str] | None = None) -> int:
    """Run the command as a program of its own, which has its own words for what libraries warn about."""
    if not sys.warnoptions:  # else somebody has asked for them
        warnings.simplefilter("ignore")
        logging.getLogger("tifffile").addHandler(logging.NullHandler())
    return main(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the `isca` command; gives its exit code (0 done, 1 the work failed, 2 wrong use, …)."""
    with _standard_streams(), _interruptible() as signals:
        try:
            return _run(sys.argv[1:] if argv is None else argv)
        except (KeyboardInterrupt, Exception) as error:
            code = _explain(error, stopped=bool(signals))
            if code is None:
                raise
            return code
        finally:
            _silence_if_broken(sys.stderr)


def _run(words: Sequence[str]) -> int:
    try:
        args = _parser().parse_args(_join_negative(words))
        return int(importlib.import_module(f"isca_gui.cli.{args.command}").run(args))
    finally:
        sys.stdout.flush()  # here a failure can still be told; when Python ends it cannot


def _join_negative(words: Sequence[str]) -> list[str]:
    """Write `--range -1:1` as `--range=-1:1`: argparse would take the value for an option."""
    joined: list[str] = []
    for index, word in enumerate(words):
        if word == "--":  # only names follow
            return [*joined, *words[index:]]
        follows_option = bool(joined) and re.fullmatch(r"--[a-z-]+", joined[-1])
        if follows_option and re.match(r"-(\d|\.\d|inf)[^:]*:", word):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="isca",
        description="What was done to a picture, where, how strongly, and how sure. "
        "Wherever an IMAGE is asked for, sample:camera and the like (see 'isca samples') are accepted.",
        epilog="Exit codes: 0 done, 1 the work failed, 2 wrong use, 3 classify found what --fail-on names. "
        "'isca COMMAND --help' says more.",
    )
    parser.add_argument(
        "--version", action="version", version=f"ISCA Studio {isca_gui.__version__}"
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, sentence in COMMANDS.items():
        module = importlib.import_module(f"isca_gui.cli.{name}")
        module.add_arguments(
            commands.add_parser(name, help=sentence, description=f"{name}: {sentence}.")
        )
    return parser


def _explain(error: BaseException, *, stopped: bool) -> int | None:
    """Say what went wrong and give the exit code; None for a mistake of the program."""
    output_is_broken = _silence_if_broken(sys.stdout)
    if stopped or isinstance(error, KeyboardInterrupt):
        common.say("isca: stopped; nothing half-written is left")
        return STOPPED
    if isinstance(error, BrokenPipeError):  # the reader has gone, as in `isca samples | head -1`
        return FAILED
    if output_is_broken and isinstance(error, OSError):
        common.say(f"isca: cannot write to standard output: {error.strerror or error}")
        return FAILED
    code = _exit_code(error)
    if code is not None:
        common.say(f"isca: {_words(error)}")
    return code


def _words(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"'{os.fsdecode(error.filename)}': {error.strerror}."
    return str(error)


def _exit_code(error: BaseException) -> int | None:
    """Tell errors with a message for the user from mistakes of the program, which keep their traceback."""
    names = (f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__)
    return next((_EXIT_CODES[name] for name in names if name in _EXIT_CODES), None)


@contextlib.contextmanager
def _interruptible() -> Iterator[list[int]]:
    """Make SIGINT and SIGTERM raise KeyboardInterrupt, and list those that came.

    The list is needed because NumPy turns an interruption of its own import into an ImportError.
    """
    came: list[int] = []

    def stop(number: int, _: object) -> NoReturn:
        came.append(number)
        raise KeyboardInterrupt

    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    # What the shell has us ignore (nohup) stays ignored; None is a handler that could not be put back.
    ours = {number: old for number, old in handlers.items() if old not in (signal.SIG_IGN, None)}
    try:
        for number in ours:
            signal.signal(number, stop)
        yield came
    finally:
        for number, old in ours.items():
            signal.signal(number, old)


def _silence_if_broken(stream: TextIO) -> bool:
    """Tell whether a stream cannot be written; if so drop what it holds, or Python's end fails on it."""
    try:
        stream.flush()
    except OSError:
        with contextlib.suppress(OSError), open(os.devnull, "wb") as nothing:
            os.dup2(nothing.fileno(), stream.fileno())
        return True
    return False


def _line_by_line(stream: TextIO) -> TextIO:
    """Give a stream without a buffer (PYTHONUNBUFFERED) one of a line: it keeps what could not be written.

    Without it argparse would hide that its help went nowhere, and nobody could tell what the error is of.
    """
    return open(
        stream.fileno(),
        "w",
        buffering=1,
        encoding="utf-8",
        errors="backslashreplace",
        closefd=False,
    )


@contextlib.contextmanager
def _standard_streams() -> Iterator[None]:
    """Write UTF-8 in any locale, and to nowhere where there is no standard output or error.

    A stream is None if it was closed, and in a Windows program without a console. Left so, argparse would
    fail, and print would write messages for standard error to standard output.
    """
    redirections = {"stdout": contextlib.redirect_stdout, "stderr": contextlib.redirect_stderr}
    with contextlib.ExitStack() as stack:
        for name, redirect in redirections.items():
            stream = getattr(sys, name)
            if stream is None:
                stack.enter_context(
                    redirect(stack.enter_context(open(os.devnull, "w", encoding="utf-8")))
                )
            elif name == "stdout" and isinstance(getattr(stream, "buffer", None), io.RawIOBase):
                stack.enter_context(redirect(stack.enter_context(_line_by_line(stream))))
            elif hasattr(stream, "reconfigure"):
                stream.reconfigure(encoding="utf-8", errors="backslashreplace")
        yield
