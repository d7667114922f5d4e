"""Commands of the command line, a file each: what they are given, what they print, how they end."""
