"""What a command line is given: paths, settings, words of earlier tools."""
