"""The server's side of builds, and the process that forks their children."""
