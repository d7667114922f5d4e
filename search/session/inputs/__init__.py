"""What a headless run is given: specs, and in which order they are searched."""
