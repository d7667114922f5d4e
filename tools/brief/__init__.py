"""The brief: what a planner is told of a variant, section by section, from what the store knows."""
