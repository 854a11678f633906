"""Comparison of a copy with its reference: what was done to it, where, how strongly, how sure.

Nothing is trained on the reference. The change between the two pictures is described by some two
hundred numbers (`features`), a classifier that was trained once on many scenes names it
(`classifier`), each family of distortions is proved in its own way (`tone`, `filters`, `noise`,
`jpeg_lattice`), and `verdict` makes one answer of both.
"""
