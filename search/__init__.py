"""The graph of variants, how it grows, and the store that keeps it."""
