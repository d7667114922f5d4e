"""Which GPUs are here, in what state, and whose processes work on them."""
