"""The runs viewer and the comparison of runs."""
