"""A small process on a GPU that a tool of NVIDIA's starts and watches: its job, and how it ends."""
