"""A kernel's memory: what earlier searches tried on it, how it ended, and what it taught.

`ideas.py` is pure; `recalling.py` reads the store.
"""
