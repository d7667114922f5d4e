"""Searches as the store has them, and what is kept of their variants."""
