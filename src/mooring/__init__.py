"""Mooring: the Kubernetes storage stack as a Python package.

Start at `mooring.stack` for how the parts are put together, at `docs/architecture.md` for why.
"""

import os

# Before anything imports gRPC: with its fork support, a child of the event loop now and then dies
# of gRPC's handlers before it becomes the program it was to be. We fork only to exec.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

__version__ = "0.1.0"
