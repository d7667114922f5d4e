"""Specs: what a user writes down about a kernel, and how it is read, checked and frozen."""
