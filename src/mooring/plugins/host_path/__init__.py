"""hostPath: directories and files of a machine itself, as volumes.

`mount.py` is the node's plugin; `provision.py` and `delete.py` are what the binder asks for, put
together in `volumes.py`. Released volumes are wiped by a pod, as those of any recycler.
"""
