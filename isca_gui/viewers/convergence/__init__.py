"""The convergence viewer: how trainings progress."""
