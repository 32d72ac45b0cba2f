"""The database: tables of named byte values under one revision counter.

May import `errors`, `log`, `clock`; knows nothing of Kubernetes objects. Start at `contract.py`.
`timeline.py` is the state in memory that both engines answer reads and watches from;
`memory.py` commits at once, `sqlite.py` when the disk has it.
"""
