"""Protection finalizers: on claims in use, bound volumes, and classes that are referred to.

A finalizer is added when it is missing, and removed when the object is being deleted and is not in
use. Start at `decide.py`.
"""
