"""Pod garbage collection: pods that no node will ever end are ended here.

Those of a node that does not exist any more, those that are deleted on a node that is out of
service or before they had a node, and finished ones when there are too many. Start at `decide.py`.
"""
