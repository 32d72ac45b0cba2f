"""Carrying out the snapshotter's plans."""
