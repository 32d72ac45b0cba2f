"""Kubernetes' own end-to-end tests of storage, run against a `mooring up` with real containers."""
