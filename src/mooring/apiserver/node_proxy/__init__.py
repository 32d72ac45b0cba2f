"""The way through the API server to a node: logs, exec, attach and port forwarding of its pods, and
HTTP to their ports.

Start at `pods.py`, which answers such requests: `options.py` checks what is asked and words it as a
node understands it, `address.py` finds the node, `dial.py` opens a connection to it, `answer.py`
reads the node's answer, `bodies.py` and `splice.py` hand it on to the client. The protocol on an
upgraded connection is between the client and the node; here it is bytes. `http_proxy.py` answers
`pods/proxy` and `nodes/proxy`; `proxied.py` says what of a message passes.
"""
