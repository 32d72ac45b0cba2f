"""Which groups, versions and resources there are: `/api`, `/apis` and what is below them.

Each document exists in a plain form, one request per group-version, and `/api` and `/apis` also in
an aggregated form, which has everything in one document.
"""

from collections.abc import Iterable

from mooring.apiserver.documents.published import Published, Shelf, publish
from mooring.apiserver.kinds.contract import Kind, Subresource
from mooring.apiserver.kinds.registry import Group, Kinds
from mooring.apiserver.kinds.subresources import answers_in, subresources
from mooring.apiserver.request.negotiation import DiscoveryForm
from mooring.model.document import Doc

_NOT_WHILE_TERMINATING = ("patch", "create", "update")
AGGREGATED_TYPE = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


class Discovery:
    """Serves discovery documents; each is made when first asked for, then kept."""

    def __init__(self, kinds: Kinds, address: str) -> None:
        self._kinds = kinds
        self._address = address
        self._paths: Shelf[None, frozenset[str]] = Shelf(kinds)
        self._shelf: Shelf[tuple[str, DiscoveryForm], Published | None] = Shelf(kinds)

    def find(self, path: str, form: DiscoveryForm = DiscoveryForm.PLAIN) -> Published | None:
        """The document at `path` (no trailing slash). None: there is no such group or version."""
        if path not in self._paths.get(None, lambda: paths(self._kinds)):
            return None  # and nothing is kept: anyone can think up paths
        return self._shelf.get((path, form), lambda: self._make(path, form))

    def _make(self, path: str, form: DiscoveryForm) -> Published | None:
        if form is DiscoveryForm.AGGREGATED and path in ("/api", "/apis"):
            groups = _core(self._kinds) if path == "/api" else _named(self._kinds)
            return publish(aggregated(self._kinds, groups), AGGREGATED_TYPE)
        document = plain(self._kinds, path, self._address)
        return publish(document) if document else None


def paths(kinds: Kinds) -> frozenset[str]:
    """Where there are discovery documents."""
    found = {"/api", "/apis"}
    for group in kinds.groups():
        root = f"/apis/{group.name}" if group.name else "/api"
        found.add(root)
        found.update(f"{root}/{version}" for version in group.versions)
    return frozenset(found)


def plain(kinds: Kinds, path: str, address: str) -> Doc | None:
    """The plain document at `path`, if there is one; `address` is the server's `host:port`."""
    match path[1:].split("/"):
        case ["api"]:
            return api_versions(kinds, address)
        case ["apis"]:
            return group_list(kinds)
        case ["apis", name]:
            found = next((group for group in _named(kinds) if group.name == name), None)
            return {"kind": "APIGroup", "apiVersion": "v1", **_group(found)} if found else None
        case ["api", version]:
            return resource_list(kinds, "", version)
        case ["apis", name, version]:
            return resource_list(kinds, name, version)
        case _:
            return None


def api_versions(kinds: Kinds, address: str) -> Doc:
    return {
        "kind": "APIVersions",
        "versions": [version for group in _core(kinds) for version in group.versions],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    }


def group_list(kinds: Kinds) -> Doc:
    return {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [_group(group) for group in _named(kinds)],
    }


def resource_list(kinds: Kinds, group: str, version: str) -> Doc | None:
    served = _of_version(kinds, group, version)
    if not served:
        return None
    return {
        "kind": "APIResourceList",
        **({"apiVersion": "v1"} if group else {}),  # the oldest list of all does without
        "groupVersion": served[0].api_version,
        "resources": [entry for kind in served for entry in _resources(kind)],
    }


def aggregated(kinds: Kinds, groups: Iterable[Group]) -> Doc:
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": [
            {
                "metadata": {"name": group.name} if group.name else {},
                "versions": [
                    {
                        "version": version,
                        "freshness": "Current",
                        "resources": [
                            _aggregated_resource(kind)
                            for kind in _of_version(kinds, group.name, version)
                        ],
                    }
                    for version in group.versions
                ],
            }
            for group in groups
        ],
    }


def _core(kinds: Kinds) -> list[Group]:
    return [group for group in kinds.groups() if not group.name]


def _named(kinds: Kinds) -> list[Group]:
    return [group for group in kinds.groups() if group.name]


def _of_version(kinds: Kinds, group: str, version: str) -> list[Kind]:
    served = (k for k in kinds.all() if (k.group, k.version) == (group, version))
    return sorted(served, key=lambda kind: kind.plural)


def _group(group: Group) -> Doc:
    versions = [{"groupVersion": f"{group.name}/{v}", "version": v} for v in group.versions]
    return {"name": group.name, "versions": versions, "preferredVersion": versions[0]}


def _resources(kind: Kind) -> Iterable[Doc]:
    yield {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": _verbs(kind),
        **_nicknames(kind),
    }
    for part in subresources(kind):
        group, version = answers_in(kind, part)
        elsewhere = (group, version) != (kind.group, kind.version)
        yield {
            "name": f"{kind.plural}/{part.name}",
            "singularName": "",
            "namespaced": kind.namespaced,
            **({"group": group, "version": version} if elsewhere else {}),
            "kind": part.kind,
            "verbs": part.verbs,
        }


def _aggregated_resource(kind: Kind) -> Doc:
    resource: Doc = {
        "resource": kind.plural,
        "responseKind": {"group": "", "version": "", "kind": kind.kind},  # "": as in this list
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": _verbs(kind),
        **_nicknames(kind),
    }
    parts = subresources(kind)
    if parts:
        resource["subresources"] = [
            {
                "subresource": part.name,
                "responseKind": _response_kind(kind, part),
                "verbs": part.verbs,
            }
            for part in parts
        ]
    return resource


def _verbs(kind: Kind) -> tuple[str, ...]:
    """While its definition is being deleted, a kind announces only what empties it."""
    if not kind.terminating:
        return kind.verbs
    return tuple(verb for verb in kind.verbs if verb not in _NOT_WHILE_TERMINATING)


def _response_kind(kind: Kind, part: Subresource) -> Doc:
    group, version = answers_in(kind, part)
    if (group, version) == (kind.group, kind.version):
        group = version = ""
    return {"group": group, "version": version, "kind": part.kind}


def _nicknames(kind: Kind) -> Doc:
    names: Doc = {}
    if kind.short_names:
        names["shortNames"] = kind.short_names
    if kind.categories:
        names["categories"] = kind.categories
    return names
