"""`python -m isca_gui`: the program; without a display, the same job headless, ending in a report."""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Open the window where there is a screen to show it on."""
    if has_display():
        from isca_gui import app

        return app.main(sys.argv[1:])
    from isca_gui import cli

    return cli.program(["demo", *sys.argv[1:]])


def has_display() -> bool:
    """Whether a window would be seen."""
    if os.environ.get("QT_QPA_PLATFORM") in ("offscreen", "minimal"):
        return False
    if not sys.platform.startswith("linux"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


if __name__ == "__main__":
    sys.exit(main())
