"""How the command line writes: the console, and tables as text and as Markdown."""
