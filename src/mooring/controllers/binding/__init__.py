"""The binder: claims get volumes, volumes that claims have left are reclaimed.

Start at `decide/claim.py` and `decide/volume.py`: they say what is to be done, and `match.py`
beside them which volume a claim gets; `volume_index.py` finds that volume among many. `run.py` says
when something is looked at, `event_handlers.py` what wakes whom. `effects/` carries out plans,
the slow operations among them.
"""
