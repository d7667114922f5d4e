"""What an operator reads afterwards: every call, log records, spans."""
