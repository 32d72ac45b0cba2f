"""The words that volumes, claims and classes share."""

from enum import StrEnum

STORAGE = "storage"
"""The one resource that capacities and requests of storage name."""


class AccessMode(StrEnum):
    ONCE = "ReadWriteOnce"
    READ_ONLY_MANY = "ReadOnlyMany"
    MANY = "ReadWriteMany"
    ONCE_POD = "ReadWriteOncePod"


class VolumeMode(StrEnum):
    FILESYSTEM = "Filesystem"
    BLOCK = "Block"


class ReclaimPolicy(StrEnum):
    """What becomes of a volume that its claim has left."""

    DELETE = "Delete"
    RETAIN = "Retain"
    RECYCLE = "Recycle"


class BindingMode(StrEnum):
    """Whether a claim is bound at once or when a pod that uses it has a node."""

    IMMEDIATE = "Immediate"
    WAIT_FOR_CONSUMER = "WaitForFirstConsumer"
