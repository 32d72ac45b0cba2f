"""Deployments: a replica set per template, of which the newest grows while the others shrink.

Start at `decide/deployment.py`.
"""
