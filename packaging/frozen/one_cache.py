"""Runs before either program of the bundle: both are to share one cache of compiled solvers.

In a bundle numba takes a cached function for outdated when `sys.executable` is another file than the one that
wrote it. The window and the command are two files, so each would compile everything anew after the other had
run, twenty seconds at a time.
"""

import os
import sys

_WINDOW = "isca-gui.exe" if os.name == "nt" else "isca-gui"
_PATH = os.path.join(os.path.dirname(sys.executable), _WINDOW)
if os.path.isfile(_PATH):
    sys.executable = _PATH
