"""The node: mounts the volumes of its pods, keeps them up to date, takes them down.

`desired.py` is what the pods want, `actual.py` what is on this machine; `decide.py` compares the
two for one volume, `operations.py` runs what it says, `effects/` does it. `role.py` builds a node,
`kubelet.py` starts its volumes and pods in order. Imports plugins, csi, oci, host, reconcile,
client and model. Start at `run.py`.
"""
