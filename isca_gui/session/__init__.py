"""The one place of state in the window, its records, and the preferences of the user."""
