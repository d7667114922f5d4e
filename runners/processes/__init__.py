"""Child processes: started with limits, confined in layers, and gone when they end."""
