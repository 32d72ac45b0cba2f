"""Very many objects at rest, put into the store as copies of a few that the roles brought to rest.

A node, and on it a pod with a claim that is bound to an attached CSI volume, are made through the
API, and the controllers do to them what they do. Then each is copied, with other names and uids.
"""

import json
from collections.abc import Iterator
from typing import Any

from bench.in_process import Cluster, a_claim, a_class, a_node, a_pod, pause
from mooring.apiserver.documents.objects import store_name
from mooring.apiserver.store.contract import Put
from mooring.model.attachment import Attachment
from mooring.model.claim import Claim
from mooring.model.csi_driver import CsiDriver
from mooring.model.keys import Key
from mooring.model.meta import ApiObject
from mooring.model.node import Node
from mooring.model.pod import Pod
from mooring.model.storage_class import StorageClass
from mooring.model.volume import Volume
from mooring.model.wellknown import Annotation
from mooring.plugins.csi.attachment_name import attachment_name

Doc = dict[str, Any]

DRIVER = "bench.example.com"
_REVISION = '"resourceVersion":"@"'


def _a_csi_volume(name: str) -> Doc:
    return {
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "local",
            "persistentVolumeReclaimPolicy": "Retain",
            "csi": {"driver": DRIVER, "volumeHandle": name},
        },
    }


def _names(number: int, nodes: int) -> dict[str, str]:
    node = f"n{number % nodes:06}"
    return {
        "c-model": f"c{number:06}",
        "v-model": f"v{number:06}",
        "p-model": f"p{number:06}",
        "n-model": node,
        attachment_name("v-model", DRIVER, "n-model"): attachment_name(
            f"v{number:06}", DRIVER, node
        ),
    }


async def fill(at: Cluster, claims: int, nodes: int, pods: int) -> None:
    """So many claims with volumes; on so many nodes; the first of them used by so many pods."""
    models = await _models(at)
    for number in range(claims):
        kinds: list[type[ApiObject]] = [Claim, Volume]
        if number < nodes:
            kinds.append(Node)
        if number < pods:
            kinds += [Pod, Attachment]
        for kind in kinds:
            await models[kind].copy(at, number, nodes)
    for table in at.store.tables():
        at.store.range(table, limit=1)  # names are put in order, as in a server that has started


async def _models(at: Cluster) -> "dict[type[ApiObject], _Model]":
    await at.create(StorageClass, [a_class("local")])
    node = a_node("n-model")
    node["metadata"]["annotations"] = {Annotation.CONTROLLER_ATTACHES: "true"}
    await at.create(Node, [node])
    await at.create(CsiDriver, [{"metadata": {"name": DRIVER}, "spec": {"attachRequired": True}}])
    await at.create(Volume, [_a_csi_volume("v-model")])
    await at.create(Claim, [a_claim("c-model")])
    await at.create(Pod, [a_pod("p-model", "c-model")])
    link = Key("", attachment_name("v-model", DRIVER, "n-model"))
    async with at.roles("binding", "protection", "attachment"):
        attached = await _made(at, link)
        await at.client.patch_both(attached, {}, {"attached": True})
        pod = await at.client.get(Pod, Key("default", "p-model"))
        await at.client.patch_both(pod, {}, {"phase": "Running"})
        await pause(2.0)
    found: dict[type[ApiObject], _Model] = {}
    for kind, key in _keys(link):
        found[kind] = _Model(at, kind, key)
    return found


async def _made(at: Cluster, link: Key) -> Attachment:
    """By the controller, when it is; a hundred tries are enough on any machine."""
    for _ in range(100):
        await pause(0.3)
        for found in (await at.client.list(Attachment)).readable:
            if found.key == link:
                return found
    raise AssertionError(f"nobody made {link}")


def _keys(link: Key) -> Iterator[tuple[type[ApiObject], Key]]:
    yield Node, Key("", "n-model")
    yield Volume, Key("", "v-model")
    yield Claim, Key("default", "c-model")
    yield Pod, Key("default", "p-model")
    yield Attachment, link


class _Model:
    """A stored object, to be copied under other names."""

    def __init__(self, at: Cluster, kind: type[ApiObject], key: Key) -> None:
        resource = kind.resource
        known = at.backend.kinds.find(resource.group, resource.version, resource.plural)
        assert known is not None
        self._kind = known
        entry = at.store.get(known.store_table, store_name(known, key.namespace, key.name))
        assert entry is not None, key
        doc: Doc = json.loads(entry.value)
        doc["metadata"]["resourceVersion"] = "@"
        doc["metadata"].pop("managedFields", None)
        self._uid = doc["metadata"]["uid"]
        self._text = json.dumps(doc, separators=(",", ":"))
        self._namespace, self._name = key.namespace, key.name
        _UIDS.setdefault(self._uid, key.name)

    async def copy(self, at: Cluster, number: int, nodes: int) -> None:
        names = _names(number, nodes)
        text = self._text
        for model, name in names.items():
            text = text.replace(model, name)
        for uid, model in _UIDS.items():
            text = text.replace(uid, f"{uid[:-12]}{_digits(names[model])}")
        head, _, tail = text.partition(_REVISION)
        head, tail = f'{head}"resourceVersion":"', f'"{tail}'
        put = Put(head.encode(), tail.encode())
        name = store_name(self._kind, self._namespace, names[self._name])
        await at.store.write(self._kind.store_table, name, lambda _: put)


_UIDS: dict[str, str] = {}  # of the models, and their names


def _digits(name: str) -> str:
    """The last part of a uid, for an object of this name."""
    return name[-6:].rjust(12, "0") if not name.startswith("csi-") else name[-12:]
