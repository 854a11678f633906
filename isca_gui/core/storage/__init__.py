"""Files, locks and folders: everything is written whole or not at all, and checked when read."""
