"""Mooring: the Kubernetes storage stack as a Python package.

Start at `mooring.stack` for how the parts are put together, at `docs/architecture.md` for why.
"""

__version__ = "0.1.0"
