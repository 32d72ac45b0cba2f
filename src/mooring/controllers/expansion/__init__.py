"""Expansion: claims that ask for more than they have.

Nearly all volumes are grown by a resizer outside; this reconciler names it and records an event.
What it grows itself are FlexVolumes, by their drivers, images of rbd and volumes of glusterfs. The
states that a growing claim goes through, which it shares with resizers and nodes, are in
`model/expansion.py`.
"""
