"""Whether this node can give a pod what it asks for; asked once, before anything is made for it.

What cannot be had is refused with a reason and an event, never left out: a pod that counts on it
would run with less than it was promised. Pure, but for `host.py`, which looks at the machine.
"""
