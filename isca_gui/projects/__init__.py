"""Projects in the window: open, save, autosave and recovery."""
