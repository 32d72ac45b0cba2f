"""How rules match."""

import pytest

from mooring.apiserver.auth.rules import Rule, covers_name, covers_path, covers_resource

PODS = Rule(("get", "list"), ("",), ("pods",))
LOGS = Rule(("get",), ("",), ("pods/log",))
STATUS = Rule(("update",), ("",), ("*/status",))
ALL_OF_STORAGE = Rule(("get",), ("storage.k8s.io",), ("*",))
EVERYTHING = Rule(("*",), ("*",), ("*",))

RESOURCES: dict[str, tuple[Rule, tuple[str, str, str, str], bool]] = {
    "verb, group and resource": (PODS, ("get", "", "pods", ""), True),
    "another verb": (PODS, ("delete", "", "pods", ""), False),
    "another group": (PODS, ("get", "metrics.k8s.io", "pods", ""), False),
    "another resource": (PODS, ("get", "", "secrets", ""), False),
    "a subresource is not its resource": (PODS, ("get", "", "pods", "log"), False),
    "a subresource by name": (LOGS, ("get", "", "pods", "log"), True),
    "a resource is not its subresource": (LOGS, ("get", "", "pods", ""), False),
    "another subresource": (LOGS, ("get", "", "pods", "exec"), False),
    "one subresource of any resource": (STATUS, ("update", "", "nodes", "status"), True),
    "any resource's subresource is not the resource": (STATUS, ("update", "", "nodes", ""), False),
    "any resource's subresource is not another": (
        STATUS,
        ("update", "", "pods", "eviction"),
        False,
    ),
    "a longer subresource is another": (STATUS, ("update", "", "x", "my/status"), False),
    "all resources": (ALL_OF_STORAGE, ("get", "storage.k8s.io", "csinodes", ""), True),
    "all resources are those of the group": (ALL_OF_STORAGE, ("get", "", "csinodes", ""), False),
    "all resources with their subresources": (
        ALL_OF_STORAGE,
        ("get", "storage.k8s.io", "volumeattachments", "status"),
        True,
    ),
    "everything": (EVERYTHING, ("impersonate", "x", "y", "z"), True),
    "asking for every verb needs every verb": (PODS, ("*", "", "pods", ""), False),
    "a rule for paths says nothing of resources": (
        Rule(("*",), paths=("*",)),
        ("get", "", "pods", ""),
        False,
    ),
}


@pytest.mark.parametrize(("rule", "asked", "covered"), RESOURCES.values(), ids=RESOURCES)
def test_resources(rule: Rule, asked: tuple[str, str, str, str], covered: bool) -> None:  # noqa: FBT001 the last column
    assert covers_resource(rule, *asked) is covered


NAMES: dict[str, tuple[tuple[str, ...], str, bool]] = {
    "no names: any object": ((), "x", True),
    "no names: also what has none yet": ((), "", True),
    "one of the names": (("a", "b"), "b", True),
    "another name": (("a", "b"), "c", False),
    "what has no name yet": (("a", "b"), "", False),
    "a star is no pattern here": (("*",), "a", False),
}


@pytest.mark.parametrize(("names", "asked", "covered"), NAMES.values(), ids=NAMES)
def test_names(names: tuple[str, ...], asked: str, covered: bool) -> None:  # noqa: FBT001 the last column
    assert covers_name(Rule(("get",), ("",), ("pods",), names=names), asked) is covered


PATHS: dict[str, tuple[str, str, str, bool]] = {
    "the path": ("/version", "get", "/version", True),
    "another verb": ("/version", "post", "/version", False),
    "something behind the path": ("/version", "get", "/version/x", False),
    "a star at the end": ("/api/*", "get", "/api/v1", True),
    "a star at the end, any depth": ("/api/*", "get", "/api/v1/x/y", True),
    "a star stands behind the slash": ("/api/*", "get", "/api", False),
    "a star stands behind the slash: no sibling": ("/api/*", "get", "/apis", False),
    "a star alone": ("*", "get", "/anything", True),
    "a star in the middle is no pattern": ("/a/*/c", "get", "/a/b/c", False),
}


@pytest.mark.parametrize(("pattern", "verb", "path", "covered"), PATHS.values(), ids=PATHS)
def test_paths(pattern: str, verb: str, path: str, covered: bool) -> None:  # noqa: FBT001 the last column
    assert covers_path(Rule(("get",), paths=(pattern,)), verb, path) is covered


def test_a_rule_for_resources_says_nothing_of_paths() -> None:
    assert not covers_path(EVERYTHING, "get", "/version")
