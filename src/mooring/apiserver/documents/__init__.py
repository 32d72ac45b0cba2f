"""Stored objects as documents, and the forms in which clients see them.

Start at `document.py` (stored bytes, documents, bytes on the wire) and `objects.py` (documents by
kind and name). `table.py` and `partial.py` are forms of objects, `published.py` documents about the
API itself; `frames.py` shares encoded watch events; `following.py` follows tables, `node_index.py`
finds pods by their node.
"""
