"""The controllers that run inside the API server: garbage collection by owner references, namespace
deletion, the expiry of events, the Service `kubernetes`.

Each decides in pure functions (`decide.py`) and writes through `InProcessWriter`. They run inside
the API server because its promises (cascading deletion, namespace deletion) depend on them. On a
real Kubernetes cluster kube-controller-manager does this work.
"""
