"""What a recorded program spends its GPU time on, and what a faster kernel could gain it: pure."""
