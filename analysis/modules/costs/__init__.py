"""What operators cost now, and would with other steps."""
