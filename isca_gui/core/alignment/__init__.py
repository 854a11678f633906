"""Geometry: where a copy lies in its reference, and the reference brought to the copy's pixels."""
