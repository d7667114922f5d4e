"""Text as hypothesis draws it."""

from __future__ import annotations

from hypothesis import strategies as st

CHARACTERS = st.characters(exclude_categories=["Cs"])
"""what UTF-8 can hold, as `st.text` has by itself, which encodes each character of Unicode to find
that out: 3 s of each process in a clean checkout"""
