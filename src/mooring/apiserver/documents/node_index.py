"""The objects that node authorization and node restriction look up; pods by node, from an index."""

from collections import defaultdict
from collections.abc import Iterator

from mooring.apiserver.documents.document import decode
from mooring.apiserver.documents.following import Follower
from mooring.apiserver.documents.objects import Objects
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.kinds.registry import Kinds
from mooring.apiserver.store.contract import Entry, Event, Store
from mooring.model.document import Doc

STORAGE = "storage.k8s.io"


class NodeIndex:
    """Implements `NodeObjects`. `start` once the store is open; it then follows every change."""

    def __init__(self, store: Store, kinds: Kinds, objects: Objects) -> None:
        self._objects = objects
        self._node_of: dict[str, str] = {}  # pod's store name -> node
        self._pods: defaultdict[str, set[str]] = defaultdict(set)
        self._follower = Follower(store, kinds, self._see, self._change, _is_pod)

    def start(self) -> None:
        self._follower.start()

    def stop(self) -> None:
        self._follower.stop()

    def pods_on_node(self, node: str) -> Iterator[Doc]:
        for place in sorted(self._pods.get(node, ())):
            namespace, _, name = place.partition("/")
            if pod := self.pod(namespace, name):
                yield pod

    def pod(self, namespace: str, name: str) -> Doc | None:
        return self._objects.find("pods", namespace, name)

    def claim(self, namespace: str, name: str) -> Doc | None:
        return self._objects.find("persistentvolumeclaims", namespace, name)

    def volume(self, name: str) -> Doc | None:
        return self._objects.find("persistentvolumes", "", name)

    def attachment(self, name: str) -> Doc | None:
        return self._objects.find("volumeattachments", "", name, group=STORAGE)

    def node(self, name: str) -> Doc | None:
        return self._objects.find("nodes", "", name)

    def csi_driver(self, name: str) -> Doc | None:
        return self._objects.find("csidrivers", "", name, group=STORAGE)

    def _see(self, kind: Kind, entry: Entry) -> None:
        node = decode(kind, entry).get("spec", {}).get("nodeName", "")
        self._forget(entry.name)
        if node:
            self._node_of[entry.name] = node
            self._pods[node].add(entry.name)

    def _change(self, kind: Kind, event: Event) -> None:
        if event.deleted:
            self._forget(event.entry.name)
        else:
            self._see(kind, event.entry)

    def _forget(self, pod: str) -> None:
        node = self._node_of.pop(pod, None)
        if node is not None:
            self._pods[node].discard(pod)


def _is_pod(kind: Kind) -> bool:
    return kind.resource == "pods"
