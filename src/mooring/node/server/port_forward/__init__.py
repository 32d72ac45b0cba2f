"""Connections to the ports of pods: `kubectl port-forward`, and the tunnels of `pods/proxy`.

`ports.py` reaches a pod's port, `relay.py` joins it with a client's stream until both have ended,
`forwarding.py` serves the streams of one SPDY connection (which a WebSocket may carry),
`channels.py` the older way over WebSockets, `tunnel.py` one connection as plain bytes.
"""
