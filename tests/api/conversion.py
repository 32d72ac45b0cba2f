"""A kind of two versions that a webhook converts: in v1 a widget has a size; in v2, a width."""

import copy
from typing import Any

from tests.api.definitions import put_definition
from tests.fakes.api import ApiUnderTest, Doc, Watching
from tests.fakes.definitions import DEFINITIONS, a_definition, a_version
from tests.fakes.waiting import until

V1 = "/apis/example.com/v1/namespaces/default/widgets"
V2 = "/apis/example.com/v2/namespaces/default/widgets"
NAMED = "conversion webhook for example.com/v1, Kind=Widget"
_FIELDS = {"example.com/v1": "size", "example.com/v2": "width"}


def _schema(field: str) -> Doc:
    spec = {
        "type": "object",
        "properties": {
            field: {"type": "integer"},
            "other": {"type": "string"},
            "replicas": {"type": "integer"},
        },
    }
    status = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}}


def widgets(client: Doc, storage: str = "v1", **changes: Any) -> Doc:
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    parts = {"status": {}, "scale": scale}
    versions = [
        a_version(name, storage=name == storage, schema=_schema(field), subresources=parts)
        for name, field in (("v1", "size"), ("v2", "width"))
    ]
    definition = a_definition(versions=versions)
    webhook = {"clientConfig": client, "conversionReviewVersions": ["v1"]}
    definition["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    definition["spec"].update(changes)
    return definition


def a_widget(version: str, name: str = "w", **spec: Any) -> Doc:
    return {
        "apiVersion": f"example.com/{version}",
        "kind": "Widget",
        "metadata": {"name": name},
        "spec": spec,
    }


def convert(doc: Doc, wanted: str) -> Doc:
    """What a right webhook makes of an object."""
    out = copy.deepcopy(doc)
    was, now = _FIELDS[doc["apiVersion"]], _FIELDS[wanted]
    spec = out.setdefault("spec", {})
    if was in spec:
        spec[now] = spec.pop(was)
    out["apiVersion"] = wanted
    return out


def converting(request: Doc) -> Doc:
    wanted = request["desiredAPIVersion"]
    objects = [convert(doc, wanted) for doc in request["objects"]]
    return {"convertedObjects": objects, "result": {"status": "Success"}}


async def seen(watching: Watching, count: int) -> None:
    """The webhook is a real program: its answers come when they come."""
    await until(lambda: len(watching.events) >= count or watching.ended)


async def switch_storage(api: ApiUnderTest, to: str) -> None:
    path = f"{DEFINITIONS}/widgets.example.com"
    definition = (await api.get(path)).doc
    for version in definition["spec"]["versions"]:
        version["storage"] = version["name"] == to
    changed = await put_definition(api, definition)
    assert changed.code == 200, changed.text
