"""A request from end to end, over HTTP or in this process.

Start at `api.py`: `Api.handle` answers HTTP requests; `in_process.py` has the same verbs for
callers in this process. `access.py` authenticates and authorizes; `pages.py` serves the
non-resource paths (health, metrics, discovery, OpenAPI).
"""
