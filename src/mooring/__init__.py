"""Mooring: the Kubernetes storage stack as a Python package.

Start at `mooring.stack` for how the parts are put together, at `docs/architecture.md` for why.
"""

import os

# Set before anything imports gRPC: its fork handlers now and then kill a child process between
# fork and exec. Mooring forks only to exec, so it does not need them.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

__version__ = "0.1.0"
