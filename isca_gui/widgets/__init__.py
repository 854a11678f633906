"""Small widgets, forms, dialogs and colours that panels, viewers and the window share."""
