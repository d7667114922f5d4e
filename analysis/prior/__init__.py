"""What to try first: from findings and structure to a probability over the moves; pure.

`weighing.py` does it, `table.py` says by how much and why, `signals.py` and `structure.py` say what
is the case.
"""
