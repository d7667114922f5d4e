"""Moves that need no syntax of one language."""
