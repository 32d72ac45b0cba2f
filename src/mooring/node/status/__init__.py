"""What a node tells the API about itself: that it is there, what it has, how it is.

`hardware.py` asks the machine, `document.py` words the answers, `report.py` keeps the Node object
up to date, `heartbeat.py` the Lease.
"""
