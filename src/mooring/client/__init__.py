"""The typed API client: one contract, two transports. May import `model` and below.

`contract.py` is what controllers see. `local.py` speaks to a server in this process, `http.py` to
any Kubernetes API server; controllers cannot tell which. `connect.py` makes the latter, from what
`kubeconfig.py` finds.
"""
