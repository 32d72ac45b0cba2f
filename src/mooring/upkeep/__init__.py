"""What is done to a data directory while nothing serves it: down, reset, backup, restore, check.

May import the roles' own modules, to read what they keep on disk; no role runs here.
"""
