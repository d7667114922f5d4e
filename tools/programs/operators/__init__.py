"""Operators of PyTorch out of a program and back: what the command line and the tools share."""
