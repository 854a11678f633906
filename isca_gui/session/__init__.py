"""The one place of state in the window, what it is made of, and what is remembered between starts."""
