"""Cluster-wide reconcilers, a folder each; every one has the same five names.

`view` (caches -> one immutable picture, `now` included), `decide` (picture -> plan, pure), `plan`
(the steps a plan may hold), `effects` (steps -> writes and calls), `run` (informers, queue,
workers). May import `reconcile`, `client`, `model` and below; reconcilers do not import each other.
"""
