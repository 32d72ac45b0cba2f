"""Eviction by taint: pods leave a node with NoExecute taints, at once or when their time is up.

Start at `decide.py`. Disruption budgets are not asked, as upstream.
"""
