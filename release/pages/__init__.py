"""Pages that are written from the sources: commands and flags, kinds and fields, the changelog.

`make docs-generated` writes the first two, which are committed; unit tests say when they are stale.
`hook.py` is what MkDocs calls while it builds the site.
"""
