"""What a profile holds: a metric by its name, launches by their share of the time, lines by their
samples; pure."""
