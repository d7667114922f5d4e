"""What is asked of whoever plans once a search has stopped, and what their answers say; pure."""
