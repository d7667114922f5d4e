"""What all of them share: what the two processes hand each other, torch, and the clock."""
