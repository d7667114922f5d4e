"""What a source says of its contract, for specs that leave it out."""
