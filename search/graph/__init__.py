"""Variants tried and the steps between them; pure."""
