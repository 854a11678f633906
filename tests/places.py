"""Where the project lies, for tests that start it or read its files."""

from pathlib import Path

ROOT = Path(__file__).parent.parent
