"""Images from registries: the distribution protocol of OCI and Docker, from a name to the files.

`settings.py` is what the administrator says, `endpoints.py` where a name is asked for, `logins.py`
with which credentials, `connection.py` speaks HTTP, `manifests.py` and `blobs.py` fetch and verify,
`pull.py` puts a pull together, and `pulls.py` lets several who want one image share it.
"""
