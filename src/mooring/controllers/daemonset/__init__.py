"""Daemon sets: a pod on every node that fits.

Start at `decide/daemon_set.py`.
"""
