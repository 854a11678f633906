"""The four steps at the left: reference, distort, train, recognise."""
