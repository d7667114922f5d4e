"""What the command line says of a search: its settings, who plans, and who answers questions."""
