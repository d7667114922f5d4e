"""What this machine can do, measured: copies, large products, and the module's own operators."""
