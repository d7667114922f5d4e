"""Pure readers: text and numbers in, data out."""
