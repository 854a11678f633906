"""Files, folders and locks: what is written is complete, what is read is checked."""
