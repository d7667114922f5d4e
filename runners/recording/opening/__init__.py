"""A spec out of kept launches: what the source says, put together with what was recorded."""
