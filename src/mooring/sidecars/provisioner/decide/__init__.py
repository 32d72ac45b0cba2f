"""The provisioner's decisions: about claims, about what a driver answered, about volumes."""
