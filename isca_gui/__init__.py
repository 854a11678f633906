"""ISCA Studio: what was done to a picture, where, how strongly, and how sure."""

__version__ = "0.1.0"
