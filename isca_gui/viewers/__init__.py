"""What was made and learned, to be looked at: one viewer a file, each can be opened alone."""
