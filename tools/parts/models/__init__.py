"""PyTorch modules: what somebody asks about one, and the files of an optimized one."""
