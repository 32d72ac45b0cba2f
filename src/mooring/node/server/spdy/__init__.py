"""SPDY/3.1, as far as clients of exec, attach and port forwarding need it.

`frames.py` reads and writes frames, `headers.py` their compressed headers, `connection.py` keeps
the streams of one connection, `session.py` talks to a container over them.
"""
