"""Expansion: claims that ask for more than they have.

Nearly all volumes are grown by a resizer outside; this reconciler tells people so and names it.
What it grows itself are volumes whose back end needs nothing done. The states that a growing claim
goes through, which it shares with resizers and nodes, are in `model/expansion.py`.
"""
