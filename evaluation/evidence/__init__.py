"""What is known of an evaluated variant, read by analysis."""
