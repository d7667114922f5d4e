"""A ModelNew beside its Model: right by KernelBench's rules, and timed by theirs and ours."""
