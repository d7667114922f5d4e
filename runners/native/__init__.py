"""Host code: its runner process, and the executor of one variant."""
