"""Node lifecycle: a node that falls silent is marked, kept free of new pods, and emptied.

Silence is measured by the clock of this process: a node lives as long as its Lease or its Ready
condition changes. Start at `decide.py`. What becomes of its pods is `taint_eviction` and `pod_gc`.
"""
