"""What a node serves over HTTPS, for the API server to pass on: logs, exec, attach.

Start at `paths.py` (what is served where) or `serving.py` (the server's life). Who is let in is in
`access.py`; exec and attach are conversations (`conversation.py`), over WebSockets (`channels.py`)
or SPDY (`spdy/`).
"""
