"""Plugin registration: a socket appears, the node asks for its CSI driver, and writes the CSINode.

Start at `run.py`. `sockets.py` watches the directory of sockets, `decide.py` decides what to do,
`handshake.py` speaks the registration API, `announce.py` writes the Node and its CSINode with the
documents of `documents.py`; `limits.py` asks drivers periodically for their volume limits.
Registered drivers are in `mooring.plugins.csi.drivers`.
"""
