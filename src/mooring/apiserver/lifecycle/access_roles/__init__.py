"""Roles that the API server looks after: those of every cluster, and aggregated ones.

`decide.py` says what they should be, `bootstrap.py` writes the first at every start, `run.py` keeps
the rules of aggregated cluster roles.
"""
