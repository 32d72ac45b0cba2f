"""How much room a driver has, told in CSIStorageCapacity objects for the scheduler.

One object per class that binds late and place that nodes are in, for drivers whose CSIDriver asks
for it (`storageCapacity`). Read again when classes, nodes or volumes change, and once a minute.
"""
