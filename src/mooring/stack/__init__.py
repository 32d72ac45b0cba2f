"""Picks the roles of a process and owns their tasks. Start at `up.py`, then `standalone.py`."""
