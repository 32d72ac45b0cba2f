"""Builds running roles out of the parts below and owns their tasks. Start at `wiring.py`."""
