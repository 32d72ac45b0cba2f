"""Requests and responses: no store, no verbs, no sockets.

`message.py` has the request and the answers, `routes.py` reads paths, `options.py` queries,
`negotiation.py` the Accept header; `refusals.py` words what is wrong as clients expect it.
"""
