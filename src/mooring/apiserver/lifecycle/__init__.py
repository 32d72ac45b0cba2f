"""What keeps the stored objects in order without being asked: garbage collection by owner
references, namespaces that empty themselves, events that expire.

Each part decides in pure functions (`*_decide.py`) and acts through `Local`. They run inside the
API server because its promises (cascading deletion, namespace deletion) depend on them. On a real
Kubernetes cluster kube-controller-manager does this work.
"""
