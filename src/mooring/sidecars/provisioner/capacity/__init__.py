"""The free capacity of a driver, in CSIStorageCapacity objects for the scheduler.

One object per WaitForFirstConsumer class and topology segment, for drivers whose CSIDriver asks for
it (`storageCapacity`). Read again when classes, nodes or volumes change, and once a minute.
"""
