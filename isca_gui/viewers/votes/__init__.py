"""The vote map viewer: the kind each block votes for, how certainly, and how strongly."""
