"""Triton kernels without a GPU: their logic, under Triton's own interpreter, at small shapes.

`logic.py` and `runner.py` are the server's side; the child (`process.py`) loads none of it.
"""
