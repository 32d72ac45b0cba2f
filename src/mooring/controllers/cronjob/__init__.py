"""Cron jobs: a job is made whenever the schedule says so, and old ones are deleted.

The name of a job follows from its time: however often one tries, it is made once.
Start at `decide.py`.
"""
