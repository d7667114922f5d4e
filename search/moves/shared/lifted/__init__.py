"""What schedules of every language share: arrays, the proof of a lift, and expressions as C."""
