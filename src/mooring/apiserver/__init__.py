"""The Kubernetes-compatible API server.

May import `model` and below. Start at `api.py` (one request from end to end), then `verbs/`;
`kinds/` has one file per kind, `store/` the database, `http/` the sockets.
"""
