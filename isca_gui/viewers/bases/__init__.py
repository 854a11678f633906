"""The bases viewer: U, V and J."""
