"""The kind Pod, whose rules fill more than one file.

Start at `pod.py`, which holds the `Kind`. Every kind has `defaults.py`, `validation.py`,
`update.py`, `warnings.py` and `row.py`; the other files validate one part of a pod each.
"""
