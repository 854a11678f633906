"""`python -m isca_gui.cli` is the `isca` command."""

import sys

from isca_gui.cli import program

sys.exit(program())
