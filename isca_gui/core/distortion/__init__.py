"""Distortions at exact MSE levels, and the datasets made of them."""
