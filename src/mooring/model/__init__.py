"""Kinds and values: immutable, typed, knowing nothing of servers, stores or hosts.

May import only `errors`, `log`, `clock`. Start at `quantity.py`, `field_error.py`, `selector.py`.
"""
