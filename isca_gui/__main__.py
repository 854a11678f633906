"""`python -m isca_gui`: opens the window, or runs the demonstration where there is no display."""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Run the program and return its exit code."""
    if has_display():
        from isca_gui import app

        return app.main(sys.argv[1:])
    from isca_gui import cli

    return cli.program(["demo", *sys.argv[1:]])


def has_display() -> bool:
    """Whether there is a screen to show a window on."""
    if os.environ.get("QT_QPA_PLATFORM") in ("offscreen", "minimal"):
        return False
    # On Windows and macOS there always is one.
    if not sys.platform.startswith("linux"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


if __name__ == "__main__":
    sys.exit(main())
