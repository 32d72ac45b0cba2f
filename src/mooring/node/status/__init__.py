"""The node's own objects: the Node with its capacity and conditions, and its Lease.

`hardware.py` reads the machine's data, `document.py` builds the Node's status, `report.py` keeps
the Node up to date, `heartbeat.py` the Lease.
"""
