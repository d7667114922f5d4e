"""What C++ moves are made of: how they read a source, and how they write one."""
