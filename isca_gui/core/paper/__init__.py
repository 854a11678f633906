"""The paper reproduced: data, methods, figures, tables and a report."""
