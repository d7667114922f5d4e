"""Searches as the store has them."""
