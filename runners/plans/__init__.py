"""Launch plans: what a spec declares of its launches, and the numbers that this becomes."""
