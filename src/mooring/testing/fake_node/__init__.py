"""Nodes that run pods by saying so: no container, no mount, the status of a pod alone."""
