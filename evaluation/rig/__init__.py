"""Builder, oracle and runners of this process; knows no store."""
