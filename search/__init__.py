"""The graph of variants, and how it grows.

Pure, with the world passed in:

- graph: variants tried and the steps between them; policies: which way a walk takes through them
- planning: who proposes candidates; moves: rules that write them; applying: what they make of a
  variant
- engine: select, expand, record, back up
- sweep, tuning: which configuration of a candidate's knobs to measure next
- memory, regraph: what earlier searches of a kernel, and of all kernels, say of a candidate

The three rooms that know store and evaluation:

- session: one search over one kernel, driven
- stored: searches as the store has them; outdir: the files that people read
"""
