"""What CUDA moves are made of: how they read a kernel, and how they write one."""
