"""The binder: claims get volumes, volumes that claims have left are reclaimed.

Start at `decide/claim.py` and `decide/volume.py`: they say what is to be done, and `match.py`
beside them which volume a claim gets. `index.py` finds that volume among many, `run.py` keeps all
of it going. `provision.py`, `reclaim.py` and `recycle.py` are the slow operations.
"""
