"""The vote map viewer: what each block was taken for, how surely, and how strong it is."""
