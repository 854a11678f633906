"""`python -m isca_gui`: until the window exists, the headless demonstration."""

from __future__ import annotations

import sys

from isca_gui import cli


def main() -> int:
    """Start the program."""
    return cli.main(["demo", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
