"""Processes of ours by a fork of one that has loaded already what all of them load."""
