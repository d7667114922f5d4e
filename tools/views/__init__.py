"""What `inspect` shows: a function a part."""
