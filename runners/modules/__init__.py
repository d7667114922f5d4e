"""A PyTorch module of the user's: loaded, traced, sped up and timed, in a process of its own.

`running.py` is what the server calls; it imports no torch. `process.py` is the child's program.

- common: what the two hand each other, as files in one folder; the clock
- forms: how a file says which module is meant, and what it is called with; the module, made
- tracing: what an eager call does, by operator and by module
- roofs: what this machine can do, measured; operators again at their own shapes
- steps: what can be done to a module, a file each
- ladder: steps put together into rungs, timed in turns, their outputs compared
"""
