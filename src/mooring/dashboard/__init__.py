"""The dashboard: one page that shows what is stuck, how full volumes are, and the chain of a claim.

`app.py` answers requests, whoever carries them: `serve.py` for `mooring dashboard`, the API server
of `mooring up` at `/ui`. `feed.py` sends rows (`rows.py`) of everything that is watched, in one
stream. Nothing here writes to a cluster. The page itself is in `static/`. May import `why`, `top`,
`client` and `model`.
"""
