"""Replication controllers: a number of pods of one template is kept running.

Pods that match the selector and have no controller are adopted, those that no longer match are
released.
Start at `decide.py`.
"""
