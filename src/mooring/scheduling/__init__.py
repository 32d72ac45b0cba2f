"""Places pods on nodes, with regard to their volumes.

`decide/` has one rule per file, each a pure look at a pod and a node; `decide/schedule.py` asks
all of them. `caches.py` keeps current what they look at; `waiting.py` holds the pods that fit
nowhere until something happens that could change that, as `decide/hints.py` says; `bindings.py`
writes what was decided and sees it through.
May import reconcile, client and model. Start at `run.py`.
"""
