"""Custom kinds: from a stored CustomResourceDefinition to the `Kind`s it defines. `kinds_of.py`."""
