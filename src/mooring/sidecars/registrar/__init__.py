"""The registrar: node agents that watch a directory hear of a driver's socket."""
