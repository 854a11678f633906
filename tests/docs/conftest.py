"""The recipe for a viewer is run without a screen."""

import os

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
