"""Patches: pure functions from documents to documents, and the ownership of fields.

`json_patch`, `merge` and `strategic` change a document by a patch of their media type; `apply` is
server-side apply; `managed_fields` keeps the owners up to date on every other write. Nothing here
reads a clock, a store or a request. Imports: `apiserver.schema` (the shape of documents), `errors`.
Start at `managed_fields.after_update` and `apply.apply`.
"""
