"""fc: a disk behind Fibre Channel, which the machine's adapter has found. `plugin.py` serves it."""
