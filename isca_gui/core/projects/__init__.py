"""Project files: everything a session holds, as a document and a folder of files."""
