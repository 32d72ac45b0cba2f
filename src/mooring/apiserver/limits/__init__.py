"""What one client may cost the others: sizes, counts, and time on the event loop.

`budgets.py` has the numbers, `json_size.py` counts what is in a body before it is decoded,
`turns.py` cuts long work in slices, `short_memo.py` is a cache that clients cannot fill.
"""
