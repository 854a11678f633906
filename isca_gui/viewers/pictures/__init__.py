"""The pictures viewer: the dataset as a gallery and as large pictures."""
