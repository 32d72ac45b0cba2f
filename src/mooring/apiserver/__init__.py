"""The Kubernetes-compatible API server.

May import `model`, `reconcile` (queues, workers) and below. Its layers, from high to low; each
knows only those below it, which `.importlinter` holds:

server      the parts put together; `running` is an API server on a directory
http        sockets, TLS, HTTP/1.1; knows nothing of Kubernetes
api         a request from end to end: authentication, authorization, verb; also in-process
lifecycle   the server's own controllers: garbage collection, namespaces, expiry of events
node_proxy  log, exec, attach and port-forward, proxied to the pod's kubelet
openapi     the API described to clients
verbs       one verb per file: get list watch create update patch delete ...
admission   one admission rule per file        patching  json, merge, strategic, apply
codec       bodies: JSON, YAML, protobuf       auth      users, tokens, roles, keys
documents   stored objects, and the forms in which clients see them
request     paths, options, media types, the answers and refusals
kinds       one kind per file: defaults, validation, status rules, columns
schema      the fields of every kind           store     the database (beside: it knows bytes)
limits      what one client may cost the others

Start reading at `api/api.py` (one request from end to end), then `verbs/create.py` and
`verbs/before_write.py`; a kind begins at `kinds/contract.py`.
"""
