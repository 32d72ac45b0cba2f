"""Replica sets and replication controllers: a number of pods of one template is kept running.

The two kinds differ in how they write their selector, and in nothing that matters here. Pods that
match the selector and have no controller are adopted, those that no longer match are released.
Start at `decide.py`.
"""
