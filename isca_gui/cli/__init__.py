"""The `isca` command: the engine without a window, without Qt, and quick to start."""

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
from isca_gui.cli import printing
from isca_gui.core.storage import memory

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Each command is a module of this package with `add_arguments(parser)` and `run(args)`, which
# returns the exit code.
COMMANDS = {
    "compare": "tell what was done to copies of a picture, with proof and probability",
    "dataset": "make labelled, distorted copies of a picture at exact MSE levels",
    "distort": "distort one picture to an exact MSE",
    "train": "learn a subspace for each block from a dataset and save the model",
    "classify": "recognise what was done to pictures, where, how strongly, and how certain that is",
    "evaluate": "measure how well a model recognises pictures, or compare methods on a dataset",
    "reconstruct": "project a picture onto a model's subspaces and back",
    "bases": "save a model's U, V and J as pictures",
    "reproduce": "repeat the paper's experiments and write a report",
    "info": "describe a picture, a dataset folder or a model",
    "samples": "list the sample pictures",
    "bench": "measure how fast the program runs on this computer",
    "demo": "run the whole program on a sample picture and write a report",
}

# Exit codes besides 0.
FAILED = 1
WRONG_USE = 2
FOUND = 3
STOPPED = 130

# The errors are listed by name, because importing them all would load the solvers.
_EXIT_CODES = {
    "isca_gui.core.settings.SettingsError": WRONG_USE,
    "isca_gui.core.progress.Cancelled": STOPPED,
    "isca_gui.core.model.model_file.ModelFileError": FAILED,
    "isca_gui.core.comparison.pair.ComparisonError": FAILED,
    "isca_gui.core.comparison.trees.ForestError": FAILED,
    "isca_gui.core.distortion.dataset.DatasetError": FAILED,
    "isca_gui.core.pictures.decoding.ImageError": FAILED,
    "isca_gui.core.model.model.NotInvertible": FAILED,
    "isca_gui.core.paper.stage_cache.PaperError": FAILED,
    "isca_gui.core.recognition.recogniser.RecognitionError": FAILED,
    "isca_gui.core.solvers.steps.SolverError": FAILED,
    "isca_gui.core.distortion.strength_search.UnreachableError": FAILED,
    "builtins.OSError": FAILED,
}


def program(argv: Sequence[str] | None = None) -> int:
    """Run `main` as a program of its own, without the warnings of libraries."""
    # With `python -W` or PYTHONWARNINGS the user has asked to see them.
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
        logging.getLogger("tifffile").addHandler(logging.NullHandler())
    return main(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the `isca` command and return its exit code."""
    words = sys.argv[1:] if argv is None else argv
    memory.spare_limited()
    with _standard_streams(), _interruptible() as signals:
        try:
            return _run(words)
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
        command = importlib.import_module(f"isca_gui.cli.{args.command}")
        return int(command.run(args))
    finally:
        # If this fails, the error can still be reported; when Python flushes at exit, it cannot.
        sys.stdout.flush()


def _join_negative(words: Sequence[str]) -> list[str]:
    """Write `--range -1:1` as `--range=-1:1`: argparse would mistake the value for an option."""
    joined: list[str] = []
    for index, word in enumerate(words):
        # After a lone "--" there are only names.
        if word == "--":
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
        description="Find out what was done to a picture, where, how strongly, and how certain "
        "that is. An IMAGE can be a file or a sample picture such as sample:camera "
        "(see 'isca samples').",
        epilog="Exit codes: 0 success, 1 failure, 2 wrong usage, 3 something listed in --fail-on "
        "was found. 'isca COMMAND --help' explains a command.",
    )
    parser.add_argument(
        "--version", action="version", version=f"ISCA Studio {isca_gui.__version__}"
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, sentence in COMMANDS.items():
        module = importlib.import_module(f"isca_gui.cli.{name}")
        description = f"{sentence[0].upper()}{sentence[1:]}."
        module.add_arguments(commands.add_parser(name, help=sentence, description=description))
    return parser


def _explain(error: BaseException, *, stopped: bool) -> int | None:
    """Print what went wrong and return the exit code; None if the error is a bug in the program."""
    output_is_broken = _silence_if_broken(sys.stdout)
    if stopped or isinstance(error, KeyboardInterrupt):
        printing.print_message("isca: stopped; no incomplete files are left behind")
        return STOPPED
    # The reader has closed the pipe, as `head` does in `isca samples | head -1`.
    if isinstance(error, BrokenPipeError):
        return FAILED
    if output_is_broken and isinstance(error, OSError):
        reason = error.strerror or error
        printing.print_message(f"isca: cannot write to standard output: {reason}")
        return FAILED
    code = FAILED if memory.is_shortage(error) else _exit_code(error)
    if code is not None:
        printing.print_message(f"isca: {_message(error)}")
    return code


def _message(error: BaseException) -> str:
    if memory.is_shortage(error):
        return memory.explanation(error)
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"'{os.fsdecode(error.filename)}': {error.strerror}."
    return str(error)


def _exit_code(error: BaseException) -> int | None:
    """Return the exit code of an error meant for the user, or None for a bug in the program."""
    for kind in type(error).__mro__:
        code = _EXIT_CODES.get(f"{kind.__module__}.{kind.__qualname__}")
        if code is not None:
            return code
    return None


@contextlib.contextmanager
def _interruptible() -> Iterator[list[int]]:
    """Make SIGINT and SIGTERM raise KeyboardInterrupt, and yield a list of the signals received.

    The list is needed because NumPy turns an interruption of its own import into an ImportError.
    """
    received: list[int] = []

    def stop(number: int, _: object) -> NoReturn:
        received.append(number)
        raise KeyboardInterrupt

    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    # A signal that the shell makes us ignore (nohup) stays ignored. None stands for a handler that
    # was not installed from Python and could not be restored.
    replaced = {
        number: old for number, old in handlers.items() if old not in (signal.SIG_IGN, None)
    }
    try:
        for number in replaced:
            signal.signal(number, stop)
        yield received
    finally:
        for number, old in replaced.items():
            signal.signal(number, old)


def _silence_if_broken(stream: TextIO) -> bool:
    """Whether a stream cannot be written; if so, its buffer is discarded for a clean exit."""
    try:
        stream.flush()
    except OSError:
        with contextlib.suppress(OSError), open(os.devnull, "wb") as nothing:
            os.dup2(nothing.fileno(), stream.fileno())
        return True
    return False


def _line_buffered(stream: TextIO) -> TextIO:
    """Return a line-buffered copy of an unbuffered stream (PYTHONUNBUFFERED).

    A buffer keeps what could not be written, so that the failure shows when the stream is flushed.
    Without one, argparse hides that its help could not be printed.
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
    """Write UTF-8 in any locale, and discard the output where there is no standard output or error.

    A stream is None if it was closed, and in a Windows program without a console. argparse would
    then fail, and print would write messages for standard error to standard output.
    """
    redirections = {"stdout": contextlib.redirect_stdout, "stderr": contextlib.redirect_stderr}
    with contextlib.ExitStack() as stack:
        for name, redirect in redirections.items():
            stream = getattr(sys, name)
            if stream is None:
                nowhere = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))
                stack.enter_context(redirect(nowhere))
            elif name == "stdout" and isinstance(getattr(stream, "buffer", None), io.RawIOBase):
                stack.enter_context(redirect(stack.enter_context(_line_buffered(stream))))
            elif hasattr(stream, "reconfigure"):
                stream.reconfigure(encoding="utf-8", errors="backslashreplace")
        yield
