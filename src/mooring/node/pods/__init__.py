"""Running pods: containers beside their volumes. Start with `decide.py`, or with `run.py`."""
