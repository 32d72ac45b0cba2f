"""Why something waits: the tables that decide, asked about objects that were read, and no effects.

`explain.py` is pure: a `World` in, an `Answer` out. `read.py` reads the world with the rights of
the caller, `told.py` prints an answer.
"""
