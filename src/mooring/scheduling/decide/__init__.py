"""Where a pod goes: pure rules over a picture of the cluster. Start at `schedule.py`."""
