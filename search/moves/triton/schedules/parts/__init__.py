"""What schedules of Triton kernels are made of: a state's lift, Triton of expressions, launches."""
