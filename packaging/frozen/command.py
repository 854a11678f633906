"""The script that starts the bundle's `isca` command."""

import sys

from isca_gui.cli import program

sys.exit(program())
