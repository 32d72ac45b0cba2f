"""HTTP/1.1 over TLS on asyncio: httptools parses, uvloop moves bytes, this package does the rest.

Knows nothing of Kubernetes. Start at `request/message.py`, then `connection.py`.
"""
