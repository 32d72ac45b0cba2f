"""rbd: images of a Ceph cluster, as disks of the node."""
