"""The typed API client: one contract, two transports. May import `model` and below.

Controllers use the protocol in `contract.py`. `local.py` implements it for an API server in this
process, `http.py` for any Kubernetes API server. `connect.py` builds the latter from a kubeconfig
(`kubeconfig.py`).
"""
