"""ReGraph: what methods brought after which others, over all kernels and searches; pure.

`transition.py` is one evaluated step, `tallies.py` adds steps up and merges sums, `synonyms.py`
finds names that mean one method (`likeness.py` by their words, `labels.py` by what somebody said of
them), `ways.py` which way a method was taken, `posterior.py` says what
to expect of a method, of a way and where, `weighing.py` makes factors for priors of that;
`file.py`, `report.py`, `patterns.py` (with `reasons.py`) and `picture.py` show it.
"""
