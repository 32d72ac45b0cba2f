"""Roles and bindings that every cluster has, as documents: read from `bootstrap.policy`."""

from collections.abc import Iterator
from importlib.resources import files

import msgspec

from mooring.apiserver.kinds.access_rules import GROUP
from mooring.model.document import Doc
from mooring.model.kubernetes_version import NEWEST, KubernetesVersion

AUTO_UPDATE = "rbac.authorization.kubernetes.io/autoupdate"
_LABELS = {"kubernetes.io/bootstrapping": "rbac-defaults"}
_AGGREGATES = "<-"
_SINCE, _UNTIL = " since=1.", " until=1."


class BootstrapObject(msgspec.Struct, frozen=True):
    plural: str
    namespace: str  # empty: of the cluster
    doc: Doc

    @property
    def name(self) -> str:
        return str(self.doc["metadata"]["name"])


def bootstrap_objects(release: KubernetesVersion = NEWEST) -> list[BootstrapObject]:
    """New documents at each call: roles first."""
    text = files("mooring.apiserver.auth").joinpath("bootstrap.policy").read_text()
    return list(_read(list(_lines_of(text, release))))


def _lines_of(text: str, release: KubernetesVersion) -> Iterator[str]:
    """Those of the release; a line may say since which one it is there, or until which one."""
    for line in text.splitlines():
        told, _, since = line.partition(_SINCE)
        told, _, until = told.partition(_UNTIL)
        if int(since or 0) <= release.minor <= int(until or release.minor):
            yield told


def _read(lines: list[str]) -> Iterator[BootstrapObject]:
    rules: list[Doc] = []
    for line in lines:
        if line.startswith("  "):
            rules.append(_rule(line))
            continue
        match line.split():
            case ["clusterrole", name, *rest]:
                rules = []
                yield BootstrapObject("clusterroles", "", _cluster_role(name, rest, rules))
            case ["role", namespace, name]:
                rules = []
                doc: Doc = {"metadata": _metadata(name), "rules": rules}
                yield BootstrapObject("roles", namespace, doc)
            case ["clusterrolebinding", name, role, *subjects]:
                doc = _binding(name, "ClusterRole", role, subjects)
                yield BootstrapObject("clusterrolebindings", "", doc)
            case ["rolebinding", namespace, name, role, *subjects]:
                doc = _binding(name, "Role", role, subjects)
                yield BootstrapObject("rolebindings", namespace, doc)
            case _:
                pass  # a comment, or an empty line


def _metadata(name: str) -> Doc:
    return {"name": name, "labels": dict(_LABELS), "annotations": {AUTO_UPDATE: "true"}}


def _cluster_role(name: str, words: list[str], rules: list[Doc]) -> Doc:
    doc: Doc = {"metadata": _metadata(name), "rules": rules}
    if _AGGREGATES in words:
        place = words.index(_AGGREGATES)
        words, chosen = words[:place], words[place + 1]
        selector = {"matchLabels": {f"{GROUP}/{chosen}": "true"}}
        doc["aggregationRule"] = {"clusterRoleSelectors": [selector]}
    doc["metadata"]["labels"] |= {f"{GROUP}/{label}": "true" for label in words}
    return doc


def _rule(line: str) -> Doc:
    match [part.split() for part in line.split("|")]:
        case [verbs, paths]:
            return {"verbs": verbs, "nonResourceURLs": paths}
        case [verbs, groups, resources]:
            return {"verbs": verbs, "apiGroups": _groups(groups), "resources": resources}
        case [verbs, groups, resources, names]:
            return {
                "verbs": verbs,
                "apiGroups": _groups(groups),
                "resources": resources,
                "resourceNames": names,
            }
        case _:
            raise ValueError(f"not a rule: {line}")


def _groups(words: list[str]) -> list[str]:
    return ["" if word == "core" else word for word in words]


def _binding(name: str, kind: str, role: str, subjects: list[str]) -> Doc:
    return {
        "metadata": _metadata(name),
        "roleRef": {"apiGroup": GROUP, "kind": kind, "name": role},
        "subjects": [_subject(subject) for subject in subjects],
    }


def _subject(word: str) -> Doc:
    kind, _, name = word.partition(":")
    if kind == "ServiceAccount":
        namespace, _, name = name.partition("/")
        return {"kind": kind, "name": name, "namespace": namespace}
    return {"apiGroup": GROUP, "kind": kind, "name": name}
