"""What a kernel is, how it is built, run, checked and timed."""
