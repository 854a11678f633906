"""Long work beside the window: the threads that do it and the actions that start it."""
