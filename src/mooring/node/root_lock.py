"""The lock in a node's root directory: one process at a time has it."""

LOCK = "mooring.lock"
