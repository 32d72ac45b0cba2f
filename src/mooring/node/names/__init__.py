"""The node's DNS server: pods find services by name; other names are asked of the host's servers.

Start at `records.py`.
"""
