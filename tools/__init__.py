"""What an agent can ask for: one verb a file."""
