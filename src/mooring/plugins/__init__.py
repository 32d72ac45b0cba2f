"""Volume plugins, one per file, and what they agree on. Imports host, client and model.

Start at `contract.py`; `registry.py` finds the plugin of a volume; `layout.py` knows every path.
"""
