"""Operators of PyTorch: seen in a program that runs, and replaced there by winners."""
