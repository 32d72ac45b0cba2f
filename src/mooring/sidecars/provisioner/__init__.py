"""The provisioner: creates volumes for claims of a driver's classes, and deletes released ones.

`decide/claim.py` and `decide/volume.py` decide what to do; a draft of the request comes from
`draft.py` with `parameters`, `secret_templates`, `topology` and `sources`. `capacity/` publishes
CSIStorageCapacity objects. A claim for which a volume may exist without a PersistentVolume has the
finalizer `plan.INTENT`: it is written before CreateVolume, so that no crash loses a volume.
"""
