"""Schedules in tiles of shared memory: contractions, and permutations."""
