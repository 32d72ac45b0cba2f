"""Carrying out the plans of the binder: writes, and the slow operations that they start.

`carry_out` is where a plan comes in; `provision` and `reclaim` are its operations, `recycle` the
pod that wipes a volume.
"""
