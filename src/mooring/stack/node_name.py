"""The node of a data directory keeps its name; under another one, its old Node object goes."""

from pathlib import Path

from mooring import log
from mooring.client.contract import Client
from mooring.clock import Clock
from mooring.errors import ApiError, NotFound, UsageError
from mooring.host.blocking import in_thread
from mooring.host.private_file import find_private, write_private
from mooring.model.document import Doc
from mooring.model.event import Event, EventType
from mooring.model.keys import Key
from mooring.model.node import Node
from mooring.model.reference import ObjectReference
from mooring.model.timestamp import to_seconds

FILE = "own-node-name"
COMPONENT = "mooring-up"
REMOVING = "RemovingNode"  # as upstream's node lifecycle controller calls it

_log = log.get("mooring.stack")


def find_node_name(data_dir: Path) -> str:
    """Under which it was a node before; empty: it was none. Raises: UsageError."""
    try:
        content = find_private(data_dir / FILE)
    except NotADirectoryError:
        return ""  # who opens the data directory says what is wrong
    except OSError as error:
        raise UsageError(f"cannot read {data_dir / FILE}: {error.strerror}") from error
    return (content or b"").decode(errors="replace").strip()


async def settle_node_name(client: Client, clock: Clock, data_dir: Path, name: str) -> None:
    """From now on the node is called `name`. What cannot be done now, the next start does."""
    before = await in_thread(find_node_name, data_dir)
    if before == name:
        return
    try:
        if before:
            await _retire(client, clock, before, name)
        await in_thread(write_private, data_dir / FILE, f"{name}\n".encode())
    except (ApiError, OSError) as error:
        _log.warning("the node's new name is not settled", node=name, was=before, because=error)


async def _retire(client: Client, clock: Clock, before: str, name: str) -> None:
    """Nobody would ever mark the Node of the old name, and pods would be placed on it."""
    try:
        old = await client.get(Node, Key("", before))
        await client.delete(old)
    except NotFound:
        return
    _log.warning("the node has another name now: its old Node is deleted", node=name, was=before)
    await client.create(Event, _event(old, name, to_seconds(clock.now())))


def _event(old: Node, name: str, now: str) -> Doc:
    return {
        "metadata": {"generateName": f"{old.name}.", "namespace": "default"},
        "involvedObject": {
            "kind": Node.resource.kind,
            "apiVersion": Node.resource.api_version,
            "name": old.name,
            "uid": ObjectReference.to(old).uid,
        },
        "type": EventType.NORMAL,
        "reason": REMOVING,
        "message": f"This machine is the node {name} now: Node {old.name} is removed",
        "source": {"component": COMPONENT},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
        "reportingComponent": COMPONENT,
    }
