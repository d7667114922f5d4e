"""What a kernel is, how it is built, run, checked and timed.

Here lie the nouns (`model.py`, `dtypes.py`, `errors.py`), what sets languages apart
(`languages.py`), how work under way is told (`progress.py`), and in which words (`wording.py`).
Packages, in the order in which an evaluation meets them:

- c_source: C++ and CUDA sources as their syntax tree has them, for all who look into them
- specs: what a user writes down; inferring: what a source says where a spec leaves it out; loading:
  from a spec's file to a loaded kernel
- plans: what is launched, with which numbers
- screens: what sources, PTX and machine code have no business naming
- building: builds asked for, kept and forked; toolchains: compilers; capture: launches of Triton
  written down; machine_code: ELF and cubins
- processes: children with limits, confined; forking: those that start as forks, what they share
  loaded; protocol: what they and the server hand each other
- proxies: runner processes as the server sees them; native: the process that runs and times host
  code; device: the one for GPU code; interpreter: Triton without a GPU
- oracle: inputs, expected values, and whether an output is right
- sanitizer: compute-sanitizer; profiling: Nsight Compute; watched: what both run
- gates: what a variant must pass; comparing: blocks in turns, until a verdict is settled; limits:
  what no kernel can beat
"""
