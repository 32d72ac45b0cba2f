"""Validating admission policies: CEL expressions that writes must satisfy."""
