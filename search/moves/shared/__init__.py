"""What moves of several languages are made of."""
