"""The OpenAPI documents: `v2.py` and `v3.py` build them, `serving.py` serves them."""
