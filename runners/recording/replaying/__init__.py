"""Kept launches run outside their program, on the driver of `runners/device`: equal bit for bit, or
not, and why."""
