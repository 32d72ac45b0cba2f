"""iscsi: a disk of another machine, by open-iscsi. `plugin.py` is what the node finds."""
