"""The provisioner: claims of a driver's classes get volumes, and volumes nobody needs go.

`decide/claim.py` and `decide/volume.py` say what is to be done; a draft of the request comes from
`draft.py` with `parameters`, `secret_templates`, `topology` and `sources`. `capacity/` tells how
much room there is. A claim for which a volume may exist that no object speaks of carries the
finalizer `plan.INTENT`: it is written before the driver is asked, so that no crash loses a volume.
"""
