"""Generic ephemeral volumes: claims that are made for a pod, and go with it.

The pod owns its claims, so that garbage collection deletes them. Start at `decide.py`.
"""
