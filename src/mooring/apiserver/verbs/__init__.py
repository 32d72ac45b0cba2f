"""One verb per file; each takes (backend, call) and answers.

`preparing.py` has the middle part that create, update, patch and apply share.
"""
