"""The documents of the project and the examples in them."""

from __future__ import annotations

import re
import shlex
from typing import NamedTuple

from tests.places import ROOT

README = ROOT / "README.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
REFERENCE = sorted((ROOT / "resources" / "reference").glob("*.md"))
DOCUMENTS = [README, CONTRIBUTING, *REFERENCE]
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```[ ]*$", re.M | re.S
)
# Drawings are "text": nobody would paste them into a shell or into Python.
LANGUAGES = {"sh", "python", "text"}


class Block(NamedTuple):
    """One fenced block."""

    language: str
    lines: list[str]


def blocks(text: str) -> list[Block]:
    """Return all fenced blocks of a document; refuse a fence that is not understood."""
    found = []
    for match in FENCE.finditer(text):
        lines = [line.removeprefix(match["indent"]) for line in match["body"].splitlines()]
        found.append(Block(match["language"].strip(), lines))
    if 2 * len(found) != len(re.findall(r"^ *(?:```|~~~)", text, re.M)):
        raise ValueError("a fenced block is not understood")
    return found


def commands(text: str) -> list[str]:
    """Return the commands of all sh blocks, in order; a line that ends in a backslash continues."""
    joined = "\n".join("\n".join(block.lines) for block in blocks(text) if block.language == "sh")
    lines = joined.replace("\\\n", " ").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.strip().startswith("#")]


def python_blocks(text: str) -> list[str]:
    """Return the Python examples of a document."""
    return ["\n".join(block.lines) + "\n" for block in blocks(text) if block.language == "python"]


def coverage_of(command: str) -> str:
    """Return how a command is covered: "run", "demo", "dev" or "install"; refuse any other."""
    words = shlex.split(command)
    if re.search(r"[|&;<>$`*?]", command):
        raise ValueError(f"needs a shell: {command}")
    if words[:2] == ["isca", "demo"]:
        # tests/cli runs it and looks at what it makes.
        return "demo"
    if words[0] == "isca":
        return "run"
    if words[:2] == ["python3", "packaging/dev.py"] and len(words) >= 3:
        return "dev"
    if words in (["pip", "install", "."], ["pre-commit", "install"]):
        return "install"
    raise ValueError(f"not covered: {command}")


def check_languages(text: str) -> None:
    """Refuse a block that no test would run, and a drawing that hides a command."""
    for block in blocks(text):
        if block.language not in LANGUAGES:
            raise ValueError(f"a block of unknown language: {block.language!r}")
        hidden = [
            line for line in block.lines if re.match(r"\s*(isca|python3|pip|import|from) ", line)
        ]
        if block.language == "text" and hidden:
            raise ValueError(f"a drawing holds a command: {hidden}")
