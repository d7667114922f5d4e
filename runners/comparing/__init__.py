"""Comparisons: blocks of calls in turns, until what they say is settled."""
