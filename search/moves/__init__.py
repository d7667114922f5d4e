"""One move a file: a transformation that can be proposed."""
