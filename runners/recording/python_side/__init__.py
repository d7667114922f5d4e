"""What recorded Python programs load (PYTHONPATH): which source their Triton kernels came from."""
