"""What a candidate makes of a variant."""
