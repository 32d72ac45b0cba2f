"""What a server says about itself: groups, resources, schemas, health."""

from typing import Any

from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.kinds.registry import builtin
from tests.conformance.asking import Cases, Step, get, seen_by

SHARED = (
    *("", "storage.k8s.io", "coordination.k8s.io", "events.k8s.io"),
    *("rbac.authorization.k8s.io", "apps"),
)
REVIEWS = ("authentication.k8s.io", "authorization.k8s.io")
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
NOT_SERVED = (
    "nodes/proxy",  # here it only reads
    "pods/resize",
    "services/proxy",
)
_OURS = {kind.plural for kind in builtin().all()}


def _path(group: str) -> str:
    return f"/apis/{group}/v1" if group else "/api/v1"


def resources_of_ours(doc: Any) -> Any:
    """The entries of the kinds that both serve, less what names a build."""
    kept = [
        {key: value for key, value in entry.items() if key != "storageVersionHash"}
        for entry in doc["resources"]
        if entry["name"].partition("/")[0] in _OURS and entry["name"] not in NOT_SERVED
    ]
    return {**doc, "resources": sorted(kept, key=lambda entry: str(entry["name"]))}


def groups_of_ours(doc: Any) -> Any:
    """The groups that both serve, and their first version."""
    return [
        (group["name"], group["preferredVersion"], group["versions"][0])
        for group in sorted(doc["groups"], key=lambda group: str(group["name"]))
        if group["name"] in (*SHARED, *REVIEWS)
    ]


def aggregated(doc: Any) -> Any:
    """Resources by group, in the aggregated form."""
    return {
        group["metadata"].get("name", ""): sorted(
            (
                _served(resource)
                for resource in group["versions"][0]["resources"]
                if resource["resource"] in _OURS
            ),
            key=lambda resource: str(resource["resource"]),
        )
        for group in doc["items"]
        if group["metadata"].get("name", "") in (*SHARED, *REVIEWS)
    }


def _served(resource: Any) -> Any:
    parts = [
        part
        for part in resource.get("subresources", ())
        if f"{resource['resource']}/{part['subresource']}" not in NOT_SERVED
    ]
    rest = {key: value for key, value in resource.items() if key != "subresources"}
    return {**rest, "subresources": parts} if parts else rest


class Schemas:
    """The properties of one kind and of all it refers to: names and types, no prose."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def __call__(self, doc: Any) -> Any:
        schemas = doc["components"]["schemas"]
        start = next(
            name
            for name, schema in schemas.items()
            if any(
                gvk["kind"] == self._kind
                for gvk in schema.get("x-kubernetes-group-version-kind", ())
            )
        )
        found: dict[str, Any] = {}
        pending = [start]
        while pending:
            name = pending.pop()
            if name in found or name.endswith("ManagedFieldsEntry"):
                continue
            schema = schemas[name]
            properties = schema.get("properties", {})
            if schema.get("type") == "array":  # theirs writes such a list out where it is used
                continue
            found[name] = {
                "type": schema.get("type"),
                "required": sorted(schema.get("required", ())),
                **{field: _type(prop, schemas) for field, prop in properties.items()},
            }
            pending += [ref for prop in properties.values() for ref in _references(prop)]
        return found


def _type(schema: Any, schemas: Any) -> Any:
    references = _references(schema)
    lists = [name for name in references if schemas[name].get("type") == "array"]
    merge = {
        name: value
        for name, value in schema.items()
        if name.startswith("x-kubernetes-") and value != "granular"  # which maps are anyway
    }
    inner = schema.get("items") or schema.get("additionalProperties") or {}
    within = "array" if lists else inner.get("type")
    others = [name for name in references if name not in lists]
    return [schema.get("type"), schema.get("format"), within, others, merge]


def _references(schema: Any) -> list[str]:
    within = [schema, schema.get("items") or {}, schema.get("additionalProperties") or {}]
    within += [part for each in within for part in each.get("allOf", ())]
    return [part["$ref"].rpartition("/")[2] for part in within if "$ref" in part]


def _schema(kind: Kind) -> Step:
    path = "apis/" + kind.group + "/v1" if kind.group else "api/v1"
    return seen_by(Schemas(kind.kind), get(f"/openapi/v3/{path}"))


CASES: Cases = {
    "which groups there are": (seen_by(groups_of_ours, get("/apis")),),
    **{
        f"which resources {group or 'the core'} has": (
            seen_by(resources_of_ours, get(_path(group))),
        )
        for group in (*SHARED, *REVIEWS)
    },
    "which versions the core has": (get("/api"), get("/api/")),
    "what a group says of itself": (get("/apis/coordination.k8s.io/odd"),),
    "which resources there are, in one document": (
        seen_by(aggregated, get("/apis", AGGREGATED)),
        seen_by(aggregated, get("/api", AGGREGATED)),
    ),
    **{
        f"the schema of {kind.group or 'the core'} {kind.kind}": (_schema(kind),)
        for kind in builtin().all()
        if kind.group in (*SHARED, *REVIEWS)
    },
    "health": (
        get("/healthz"),
        get("/livez"),
        get("/readyz"),
        get("/healthz/ping"),
        get("/readyz?exclude=odd"),
    ),
}
