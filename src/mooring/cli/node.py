"""`mooring node`: this machine as a node, against an API server elsewhere."""

from pathlib import Path
from typing import Annotated

import typer

from mooring.cli.flags import Kubeconfig, Level, LogLevel, MetricsAddress, NodeName
from mooring.stack.config import default_node_root


def node(
    root_dir: Annotated[
        Path,
        typer.Option(
            help="Where pods' volumes are mounted; each node needs one of its own.",
            default_factory=default_node_root,
            show_default="/var/lib/mooring/node for root, else ~/.local/share/mooring/node",
        ),
    ],
    kubeconfig: Kubeconfig = None,
    node_name: NodeName = "",
    metrics_address: MetricsAddress = "",
    log_level: LogLevel = Level.INFO,
) -> None:
    """Join a Mooring API server as a node: mount the volumes of the pods that are bound to it.

    `mooring up` includes one: this is for further machines. Make its kubeconfig on the server's:
    mooring kubeconfig --role node:worker-1 --server https://10.0.0.5:6443 -o worker-1.conf

    Stopping it leaves everything mounted; a restart finds it. Mounting needs root.

    Example: mooring node --kubeconfig worker-1.conf --node-name worker-1
    """
    from mooring import log
    from mooring.stack.alone import Alone, run_node
    from mooring.stack.config import get_node_name

    log.to_stderr(log_level)
    wanted = Alone(kubeconfig, leader_elect=False, metrics_address=metrics_address)
    run_node(wanted, typer.echo, get_node_name(node_name), root_dir)
