"""Doing what a plan says, one kind of operation per file. `mount.py` is the one to read first."""
