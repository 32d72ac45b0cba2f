"""Authentication and authorization: keys and tokens, users, roles, reviews.

Start at `authenticate.py` (headers to users) and `authorize.py` (users to verdicts). What nodes may
do is in `node_authorizer.py`; what they may write, in `admission/node_restriction.py`. Nothing here
reads the clock, the network or the store.
"""
