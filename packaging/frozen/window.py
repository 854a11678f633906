"""What the bundle's window program starts with."""

import sys

from isca_gui.__main__ import main

sys.exit(main())
