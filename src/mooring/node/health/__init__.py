"""Health on a node: what its drivers say of pods' volumes and of their storage, told in the API.

Start at `decide.py`. A driver of CSI 1.13 is asked by NodeGetVolumeHealth and NodeGetStorageHealth;
of one up to 1.12 the VolumeCondition of NodeGetVolumeStats counts.
"""
