"""Which path an object has: kinds, plurals and short names, as the server tells them."""

from collections.abc import Callable, Iterator

import msgspec

from mooring.model.document import Doc
from mooring.testing.errors import ClusterError
from mooring.testing.requests import Requests

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


class ServedKind(msgspec.Struct, frozen=True):
    group: str
    version: str
    kind: str
    plural: str
    is_namespaced: bool
    names: frozenset[str]  # lower case, by which people call it

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str, name: str = "") -> str:
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        where = f"/namespaces/{namespace}" if self.is_namespaced and namespace else ""
        return f"{root}{where}/{self.plural}" + (f"/{name}" if name else "")


class ServedKinds:
    """Asked again when a kind is not known: it may be a custom one, and new."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests
        self._known: tuple[ServedKind, ...] = ()

    def of(self, api_version: str, kind: str) -> ServedKind:
        """Raises: ClusterError."""
        found = self._find(lambda one: one.api_version == api_version and one.kind == kind)
        if found is None:
            raise ClusterError(f"the cluster does not serve {kind} of {api_version}")
        return found

    def called(self, word: str) -> ServedKind:
        """By plural, singular, kind or short name, or `plural.group`. Raises: ClusterError."""
        word = word.lower()
        found = self._find(lambda one: word in one.names)
        if found is None:
            raise ClusterError(f"the cluster serves nothing that is called {word!r}")
        return found

    def all(self) -> tuple[ServedKind, ...]:
        self._read()
        return self._known

    def _find(self, fits: Callable[[ServedKind], bool]) -> ServedKind | None:
        found = next(filter(fits, self._known), None)
        if found is None:
            self._read()
            found = next(filter(fits, self._known), None)
        return found

    def _read(self) -> None:
        told = [self._requests.send("GET", path, accept=AGGREGATED) for path in ("/api", "/apis")]
        self._known = tuple(kind for one in told for kind in _kinds(one))


def _kinds(told: Doc) -> Iterator[ServedKind]:
    for group in told["items"]:
        name = group["metadata"].get("name", "")
        for version in group["versions"]:
            for resource in version.get("resources", ()):
                if "get" not in resource["verbs"]:
                    continue
                called = {resource["resource"], resource.get("singularResource", "")}
                called |= {resource["responseKind"]["kind"], *resource.get("shortNames", ())}
                called |= {f"{one}.{name}" for one in called if name}
                yield ServedKind(
                    name,
                    version["version"],
                    resource["responseKind"]["kind"],
                    resource["resource"],
                    resource["scope"] == "Namespaced",
                    frozenset(one.lower() for one in called if one),
                )
