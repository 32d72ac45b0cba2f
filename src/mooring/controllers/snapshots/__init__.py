"""Snapshots and group snapshots: what upstream's snapshot-controller does, without a driver.

For every VolumeSnapshot it makes, or finds, the VolumeSnapshotContent that the driver's sidecar
(`sidecars/snapshotter`, or upstream's csi-snapshotter) acts on, and copies the outcome back. The
two halves meet only through the objects, annotations and finalizers that upstream defined, so
either may be upstream's. Start at `decide/snapshot.py`; groups are in `groups/`.
"""
