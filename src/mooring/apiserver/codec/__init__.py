"""From the bytes of a request to a document: JSON, YAML and protobuf.

Start with `body.py`. The formats are in `yaml_body.py`, `protobuf.py` and `schema/json_text.py`;
`identity.py` decides whether a body is of the kind that its URL names.
"""
