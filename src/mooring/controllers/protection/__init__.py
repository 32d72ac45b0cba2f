"""Protection: a claim in use, a bound volume, a class that is referred to are not let go.

Each carries a finalizer that is put back when missing and taken off when the object is to be
deleted and nothing needs it. Start at `decide.py`.
"""
