"""What every Python process of a program loads before its own code: `sitecustomize.py`."""
