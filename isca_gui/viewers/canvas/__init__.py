"""Picture panes: drawing, zooming, linking and the keys they answer."""
