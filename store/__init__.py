"""What must outlive a process: one SQLite file, the records in it, the jobs."""
