"""Namespaces get their default objects and are emptied on deletion: `decide.py`, then `run.py`."""
