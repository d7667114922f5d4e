"""What schedules are made of: a state's lift, what its sizes may be, C++ text of expressions."""
