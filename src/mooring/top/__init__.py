"""How full volumes are, per claim, pod and node: what `mooring top` and the dashboard show.

`read.py` asks the kubelets through the API server, `rows.py` puts their answers together (pure),
`told.py` makes a table of them, `live.py` draws bars. May import `client` and `model`.
"""
