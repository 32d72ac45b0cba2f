"""The snapshotter: VolumeSnapshotContents and VolumeGroupSnapshotContents of a driver become so.

Recorded first, then done: a content says that it is being created, and with which words, before the
driver is asked to take a snapshot. It says so until the driver has given a certain answer; until
then nothing is deleted.
"""
