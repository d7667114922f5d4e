"""A module's call as a graph of plain records: what kernels are cut out of."""
