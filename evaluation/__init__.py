"""A variant built, proved, timed and recorded; what is known of it afterwards."""
