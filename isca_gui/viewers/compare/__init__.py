"""The compare page: two targets, the answer with its proof, and a table of many copies."""
