"""Programs recorded from outside: every launch, what it took, and launches kept with all they read.

`native/` is loaded into the program (one core, two fronts); the files here build it, start the
program under it, and read what it wrote. `replaying/` runs kept launches outside the program.
"""
