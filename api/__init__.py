"""What Python programs import: kernels tuned by a call (docs/python.md)."""
