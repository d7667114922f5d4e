"""Programs of the user, recorded and changed: what the command line and the tools share."""
