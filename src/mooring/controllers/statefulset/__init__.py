"""Stateful sets: numbered pods, each with a name and claims that it keeps.

Start at `decide/stateful_set.py`.
"""
