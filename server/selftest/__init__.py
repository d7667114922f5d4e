"""The evaluator against the library of cheats, on this machine."""
