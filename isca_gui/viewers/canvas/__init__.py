"""Canvases for pictures: drawing, zooming, linking, and the keys they answer."""
