"""glusterfs: volumes of servers that the node's client mounts.

`mount.py` is the node's plugin; `volumes.py` makes, deletes and grows volumes by heketi, the REST
manager of Gluster clusters.
"""
