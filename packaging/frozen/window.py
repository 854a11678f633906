"""The script that starts the bundle's window."""

import sys

from isca_gui.__main__ import main

sys.exit(main())
