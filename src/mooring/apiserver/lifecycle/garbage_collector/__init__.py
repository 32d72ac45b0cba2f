"""Garbage collection by owner references: `decide.py` is pure, `run.py` follows and acts."""
