"""What the server and its runner processes hand each other."""
