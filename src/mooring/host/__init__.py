"""The operating system: mounts, file systems, loop devices, ownership, safe paths.

Functions here block and raise `HostError`; async callers go through `blocking.in_thread`. Imports
only the model. Start at `mount.py`. Only `tree.py` goes through directory trees, and it never
leaves a mount (`same_mount.py`).
"""
