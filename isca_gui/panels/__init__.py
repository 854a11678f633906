"""The four steps on the left: reference, distort, train, recognise."""
