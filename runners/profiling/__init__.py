"""Nsight Compute: how it is run over a launch plan, and how its reports are read."""
