"""Drivers: who answers a planner's question in place of a client, one file each."""
