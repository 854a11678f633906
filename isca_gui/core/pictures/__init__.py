"""Pictures: reading and writing them, cutting them into blocks, and their structural similarity."""
