"""One verb per file; each takes (backend, call) and answers.

`backend.py` has what they are given. `before_write.py` is the middle part that create, update,
patch and apply share; `in_process_writer.py` writes for callers in this process, and
`watch_filter.py` picks the changes a watcher is sent, over HTTP and in-process.
"""
