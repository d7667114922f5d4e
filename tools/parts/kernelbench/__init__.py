"""A problem in KernelBench's form: cut into specs, optimized, written as a ModelNew, scored."""
