"""Definitions of custom resources: served, deleted with their objects: `decide.py`, `run.py`."""
