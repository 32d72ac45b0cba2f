"""The way through the API server to a node: logs, exec, attach and port forwarding of its pods.

Start at `pods.py`, which answers such requests: `options.py` checks what is asked and words it as a
node understands it, `address.py` finds the node, `dial.py` opens a connection to it, `answer.py`
reads what comes back, `logs.py` and `splice.py` hand that on to the client. What is spoken on an
upgraded connection is between the client and the node; here it is bytes.
"""
