"""What schedules of host C++ are made of."""
