"""The oracle: inputs from secret seeds, the expected values, and whether an output is right."""
