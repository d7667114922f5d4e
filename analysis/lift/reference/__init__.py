"""A lift as a reference in numpy: a function `reference` that computes what the lift says, in the
types of the arrays it is given, so that in float64 it is the truth of the kernel that was read.

`prelude.py` is what such a source begins with; `writing.py` writes what follows.
"""

from .writing import reference_source

__all__ = ["reference_source"]
