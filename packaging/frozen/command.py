"""What the bundle's `isca` command starts with."""

import sys

from isca_gui.cli import program

sys.exit(program())
