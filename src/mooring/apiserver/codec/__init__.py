"""From the bytes of a request to a document: JSON, YAML and protobuf.

Start with `body.py`. The three formats are in `json_body.py`, `yaml_body.py` and `protobuf.py`;
`identity.py` decides whether a body is of the kind that its URL names.
"""
