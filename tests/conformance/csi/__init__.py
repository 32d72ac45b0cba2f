"""Real CSI drivers, and the life of their volumes on Mooring and on Kubernetes."""
