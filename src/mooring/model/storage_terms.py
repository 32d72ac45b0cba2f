"""The words that volumes, claims and classes share."""

from mooring.model.wire import Word

STORAGE = "storage"
"""The one resource that capacities and requests of storage name."""


class AccessMode(Word):
    ONCE = "ReadWriteOnce"
    READ_ONLY_MANY = "ReadOnlyMany"
    MANY = "ReadWriteMany"
    ONCE_POD = "ReadWriteOncePod"


class VolumeMode(Word):
    FILESYSTEM = "Filesystem"
    BLOCK = "Block"


class ReclaimPolicy(Word):
    """What becomes of a volume that its claim has left."""

    DELETE = "Delete"
    RETAIN = "Retain"
    RECYCLE = "Recycle"


class BindingMode(Word):
    """Whether a claim is bound at once or when a pod that uses it has a node."""

    IMMEDIATE = "Immediate"
    WAIT_FOR_CONSUMER = "WaitForFirstConsumer"
