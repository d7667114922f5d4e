"""C++ and CUDA sources as their syntax tree has them: one reader for all who look into them.

The lowest room of `runners`: it knows nothing of specs, contracts or moves. What is not certain is
not said: a type that is not known is no wide integer, and a loop of another form is none.

- parsing: the tree; preprocessor: what its lines say
- nodes: walking, texts, fields; names: which are used, and which change
- types: numbers in C; literals: integers as they are written
- declarators: what is declared; functions: those that could be an entry, and their parameters
- expressions: without parentheses and casts, as sums and products; loops: `for` with a count
"""
