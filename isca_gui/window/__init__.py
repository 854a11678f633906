"""The main window: it arranges panels, viewers and menus, and holds no work of its own."""
