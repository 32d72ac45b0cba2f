"""Containers and images of the Open Container Initiative: bundles, an OCI runtime, an image store.

Knows nothing of pods or of the API. May import `host`, `model` and below. Start with `contract.py`.
"""
