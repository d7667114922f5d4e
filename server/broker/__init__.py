"""One process a project that owns its GPUs, jobs and searches, and outlives those who ask it."""
