"""The node's HTTPS server, called by the API server's proxy: logs, exec, attach, port-forward.

Start at `paths.py` (the routes) or `serving.py` (the server). Authentication and authorization are
in `access.py`; exec and attach are conversations (`conversation.py`), over WebSockets
(`channels.py`) or SPDY (`spdy/`); connections to pods' ports are in `port_forward/`.
"""
