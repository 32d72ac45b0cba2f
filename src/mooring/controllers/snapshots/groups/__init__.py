"""Group snapshots: one content for the volumes of several claims, then a snapshot for each.

The members are ordinary snapshots, which the loops next door serve. Start at `decide/group.py`.
"""
