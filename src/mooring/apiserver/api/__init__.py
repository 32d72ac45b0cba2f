"""A request from end to end, whoever brings it.

Start at `api.py`: `Api.handle` answers requests that come over HTTP; `in_process.py` has the same
verbs for callers in this process. `access.py` asks who it is and whether they may; `pages.py`
serves what is no resource (health, metrics, discovery, OpenAPI).
"""
