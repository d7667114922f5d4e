"""Select, expand, record, back up; the world is passed in."""
