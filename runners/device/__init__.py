"""The device tier: the process that runs GPU code beside the clock, and what it stands on."""
