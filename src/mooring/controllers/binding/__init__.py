"""The binder: claims get volumes, volumes that claims have left are reclaimed.

Start at `decide/claim.py` and `decide/volume.py`: they decide what to do, and `match.py` beside
them which volume a claim gets; `volume_index.py` finds that volume among many. `run.py` has the
queue and the workers, `event_handlers.py` puts keys into the queue. `effects/` carries out plans,
the slow operations among them.
"""
