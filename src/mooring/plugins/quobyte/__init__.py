"""quobyte: volumes of a Quobyte cluster.

`mount.py` is the node's plugin; `volumes.py` makes and deletes volumes by Quobyte's API.
"""
