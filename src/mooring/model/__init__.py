"""Kinds and values: immutable, typed, and independent of servers, stores and hosts.

May import only `errors`, `log`, `clock`. Start at `quantity.py`, `field_error.py`, `selector.py`.
"""
