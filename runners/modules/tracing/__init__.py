"""What an eager call of a module does: operators with bytes and FLOPs, times, modules, memory."""
