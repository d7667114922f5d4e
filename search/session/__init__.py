"""A search over one kernel: engine, evaluator and store together."""
