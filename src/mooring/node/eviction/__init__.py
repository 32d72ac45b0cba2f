"""Ends pods that use more of the node's disk than they said they would."""
