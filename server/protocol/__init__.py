"""What crosses the wire: requests read, tools listed, arguments checked, replies written."""
