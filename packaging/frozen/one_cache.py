"""Runs before either program of the bundle, so that both share one cache of compiled solvers.

In a bundle, numba considers a cached function outdated if `sys.executable` is not the file that
wrote it. The window and the command are two files, so each would compile everything again after the
other had run, which takes twenty seconds.
"""

import os
import sys

_WINDOW = "isca-gui.exe" if os.name == "nt" else "isca-gui"
_PATH = os.path.join(os.path.dirname(sys.executable), _WINDOW)
if os.path.isfile(_PATH):
    sys.executable = _PATH
