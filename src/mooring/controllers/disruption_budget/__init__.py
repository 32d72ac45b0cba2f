"""Pod disruption budgets: how many pods of an application may be evicted at the moment.

The eviction subresource (`apiserver/verbs/evict.py`) takes from `status.disruptionsAllowed`; this
controller counts what there is. Start at `decide.py`.
"""
