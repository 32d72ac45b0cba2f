"""What the API looks like, in OpenAPI: `v2.py` and `v3.py` tell it, `serving.py` hands it out."""
