"""Runner processes as the server sees them."""
