"""Drivers make themselves known: a socket appears, the node asks who is there, and tells the API.

Start at `run.py`. `sockets.py` sees sockets come and go, `decide.py` says what that means,
`handshake.py` talks to what is behind one, `announce.py` writes the Node and its CSINode, whose
words are in `documents.py`; `limits.py` asks drivers now and then how many volumes they take.
The drivers that can be used are in `mooring.plugins.csi.drivers`.
"""
