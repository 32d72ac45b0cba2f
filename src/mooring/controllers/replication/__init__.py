"""Replication controllers: a number of pods of one template is kept running.

Pods that fit the selector and belong to nobody are adopted, those that no longer fit are let go.
Start at `decide.py`.
"""
