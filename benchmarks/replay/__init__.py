"""Searches run again without a machine: over recorded graphs and over measured spaces."""
