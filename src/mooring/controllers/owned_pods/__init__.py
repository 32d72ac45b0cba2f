"""What every owner of pods needs: replication controllers, replica sets, stateful sets, jobs.

`claiming.py` decides whose a pod is (`ownership.py`: whose any object is), `deletion_order.py`
which surplus pods go first, `readiness.py` how long a pod has been ready; `plan.py` has the steps
about pods that a plan may hold, `effects.py` carries them out, and `index.py` finds pods by their
owner and the owners that a pod concerns.
"""
