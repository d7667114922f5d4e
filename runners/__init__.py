"""What a kernel is, how it is built, run, checked and timed.

Here lie the nouns (`model.py`, `contract.py`, `errors.py`), the runners (`runner.py` on
`process_runner.py`, with `native_runner.py` and `executor.py` for host code), the builder, and
`checking.py`, which joins runner and oracle. Packages, in the order in which an evaluation meets
them:

- specs: what a user writes down; inferring: what a source says where a spec leaves it out
- plans: what is launched, with which numbers
- screens: what sources, PTX and machine code have no business naming
- toolchains: compilers; capture: launches of Triton written down; machine_code: ELF and cubins
- processes: children with limits, confined
- device: the process that runs and times GPU code; interpreter: Triton without a GPU
- oracle: inputs, expected values, and whether an output is right
- sanitizer: compute-sanitizer; profiling: Nsight Compute; watched: what both run
- gates: what a variant must pass; comparing: blocks in turns, until a verdict is settled
"""
