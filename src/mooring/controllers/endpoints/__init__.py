"""The addresses behind services: endpoint slices and Endpoints, kept from pods and selectors.

Start at `decide/service.py`.
"""
