"""The enumerations that volumes, claims and classes share."""

from mooring.model.wire import Word

STORAGE = "storage"
"""The resource name in capacities and requests of storage."""


class AccessMode(Word):
    ONCE = "ReadWriteOnce"
    READ_ONLY_MANY = "ReadOnlyMany"
    MANY = "ReadWriteMany"
    ONCE_POD = "ReadWriteOncePod"


class VolumeMode(Word):
    FILESYSTEM = "Filesystem"
    BLOCK = "Block"


class ReclaimPolicy(Word):
    """What happens to a volume when its claim is deleted."""

    DELETE = "Delete"
    RETAIN = "Retain"
    RECYCLE = "Recycle"


class BindingMode(Word):
    """Whether a claim is bound at once or when a pod that uses it has a node."""

    IMMEDIATE = "Immediate"
    WAIT_FOR_CONSUMER = "WaitForFirstConsumer"
