"""Who may build or run when: devices in turns, builds ahead, a pipeline."""
