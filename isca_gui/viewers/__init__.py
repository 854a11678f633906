"""Viewers of what was made and learned; each can also be opened alone."""
