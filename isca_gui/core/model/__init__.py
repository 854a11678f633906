"""Trained models: training, projection, reconstruction, and their files."""
