"""The verbs of a test, on the objects of one namespace (and on those that have none)."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, overload

import msgspec

from mooring.clock import Clock, RealClock
from mooring.model.document import Doc
from mooring.testing.errors import ClusterError, NotYet, Refused
from mooring.testing.kinds import ServedKind, ServedKinds
from mooring.testing.manifests import Manifest, Several, documents_of
from mooring.testing.reports import report_events, report_object
from mooring.testing.requests import Requests
from mooring.testing.until import Test, Until, parse

MANAGER = "mooring-testing"
APPLY = "application/apply-patch+yaml"
DEFINITION = "CustomResourceDefinition"
SECONDS = 10.0  # that `wait` waits unless told


class Named(msgspec.Struct, frozen=True):
    kind: ServedKind
    name: str
    namespace: str

    @property
    def path(self) -> str:
        return self.kind.path(self.namespace, self.name)

    def __str__(self) -> str:
        where = f" in {self.namespace}" if self.kind.is_namespaced else ""
        return f"{self.kind.plural}/{self.name}{where}"


class Kube:
    """`name` is the namespace. References read as for kubectl: `pvc/data`, `deploy/web`."""

    def __init__(self, requests: Requests, kinds: ServedKinds, name: str) -> None:
        self.name = name
        self._requests = requests
        self._kinds = kinds
        self._clock: Clock = RealClock()

    def __str__(self) -> str:
        return self.name

    @overload
    def apply(self, manifest: Mapping[str, Any]) -> Doc: ...

    @overload
    def apply(self, manifest: Several) -> list[Doc]: ...

    def apply(self, manifest: Manifest) -> Doc | list[Doc]:
        """Server-side apply, by force; returns the object (a List with its items), or all of them.

        A custom kind is served once this returns. Raises: Refused, ClusterError.
        """
        applied = [self._apply(doc) for doc in documents_of(manifest)]
        if not isinstance(manifest, Mapping):
            return applied
        return {**manifest, "items": applied} if manifest.get("kind") == "List" else applied[0]

    def get(self, reference: str) -> Doc:
        """Raises: Refused (404 when there is none), ClusterError."""
        return self._requests.send("GET", self._named(reference).path)

    def find(self, reference: str) -> Doc | None:
        """None when there is none. Raises: Refused, ClusterError."""
        try:
            return self.get(reference)
        except Refused as refused:
            if refused.code == 404:
                return None
            raise

    def list(self, kind: str, selector: str = "") -> list[Doc]:
        """Those of this namespace. Raises: Refused, ClusterError."""
        query = {"labelSelector": selector} if selector else None
        found = self._requests.send("GET", self._kinds.called(kind).path(self.name), query=query)
        return [dict(item) for item in found["items"]]

    def delete(self, reference: str, *, timeout: float | None = None) -> None:
        """Delete it, with all that it owns; with `timeout`, wait until it is gone.

        Raises: Refused (404 when there is none), NotYet, ClusterError.
        """
        body = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
        self._requests.send("DELETE", self._named(reference).path, body)
        if timeout is not None:
            self.wait(reference, "deleted", timeout=timeout)

    def patch(self, reference: str, change: Mapping[str, Any], *, part: str = "") -> Doc:
        """Merge `change` into it, or into its `part` (`status`). Raises: Refused, ClusterError."""
        path = self._named(reference).path + (f"/{part}" if part else "")
        return self._requests.send("PATCH", path, change, content="application/merge-patch+json")

    def wait(self, reference: str, goal: str | Test, *, timeout: float = SECONDS) -> Doc:
        """Return the object once it is as `goal` says (see `until.py`); empty once it is deleted.

        Raises: NotYet, which shows the object and its events; Refused, ClusterError.
        """
        named, until = self._named(reference), parse(goal)
        end = self._clock.monotonic() + timeout
        while True:
            is_met, seen = self._watch(named, until, end)
            if is_met:
                return seen or {}
            if self._clock.monotonic() >= end:
                raise NotYet(self._not_yet(named, until, seen, timeout))

    def events(self, about: str = "") -> Sequence[Doc]:
        """Those of this namespace, or of the object called `about` in it."""
        query = {"fieldSelector": f"involvedObject.name={about}"} if about else None
        path = f"/api/v1/namespaces/{self.name}/events"
        return [dict(item) for item in self._requests.send("GET", path, query=query)["items"]]

    def wait_event(self, about: str, text: str, *, timeout: float = SECONDS) -> Doc:
        """The first event of the object called `about` with `text` in its reason or message.

        Raises: NotYet, Refused, ClusterError.
        """
        end = self._clock.monotonic() + timeout
        path = f"/api/v1/namespaces/{self.name}/events"
        chosen = {"fieldSelector": f"involvedObject.name={about}"}
        seen: Sequence[Doc] = ()
        while True:
            found = self._requests.send("GET", path, query=chosen)
            seen = found["items"]
            later = self._changes(path, chosen, found["metadata"]["resourceVersion"], end)
            for event in chain(seen, (change["object"] for change in later)):
                if text in event.get("reason", "") or text in event.get("message", ""):
                    return dict(event)
            if self._clock.monotonic() >= end:
                told = report_events(self.events(about))
                raise NotYet(f"no event of {about} says {text!r} after {timeout:g} s\n{told}")

    def objects(self) -> Sequence[Doc]:
        """Everything in this namespace, but events and what every namespace has."""
        found = []
        for kind in self._kinds.all():
            if not kind.is_namespaced or kind.kind in ("Event", "ServiceAccount"):
                continue
            items = self._requests.send("GET", kind.path(self.name)).get("items", ())
            told = {"apiVersion": kind.api_version, "kind": kind.kind}
            found += [told | item for item in items]
        return [one for one in found if one["metadata"]["name"] != "kube-root-ca.crt"]

    def _apply(self, doc: Doc) -> Doc:
        kind = self._kinds.of(doc["apiVersion"], doc["kind"])
        metadata = doc["metadata"]
        path = kind.path(metadata.get("namespace") or self.name, metadata["name"])
        query = {"fieldManager": MANAGER, "force": "true"}
        applied = self._requests.send("PATCH", path, doc, query, content=APPLY)
        if doc["kind"] == DEFINITION:
            self.wait(f"crd/{metadata['name']}", "condition=Established")
        return applied

    def _named(self, reference: str) -> Named:
        word, _, name = reference.partition("/")
        if not word or not name:
            raise ClusterError(f"{reference!r} names no object: write KIND/NAME, as in pvc/data")
        return Named(self._kinds.called(word), name, self.name)

    def _watch(self, named: Named, until: Until, end: float) -> tuple[bool, Doc | None]:
        """Whether it came to be, before time was up or the server ended; and what was seen last."""
        path = named.kind.path(named.namespace)
        chosen = {"fieldSelector": f"metadata.name={named.name}"}
        found = self._requests.send("GET", path, query=chosen)
        seen = next(iter(found["items"]), None)
        if until.is_met(seen):
            return True, seen
        for change in self._changes(path, chosen, found["metadata"]["resourceVersion"], end):
            seen = None if change["type"] == "DELETED" else change["object"]
            if until.is_met(seen):
                return True, seen
        return False, seen

    def _changes(
        self, path: str, chosen: Mapping[str, str], version: str, end: float
    ) -> Iterator[Doc]:
        """After `version`, until the time is up or the server ends the watch."""
        left = end - self._clock.monotonic()
        if left <= 0:
            return
        query = {
            **chosen,
            "watch": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(int(left) + 1),
        }
        with suppress(TimeoutError), self._requests.stream(path, query, left) as changes:
            for change in changes:
                if change["type"] == "ERROR":
                    return
                yield change
                if self._clock.monotonic() >= end:
                    return

    def _not_yet(self, named: Named, until: Until, seen: Doc | None, timeout: float) -> str:
        found = "it does not exist" if seen is None else until.found(seen)
        line = f"{named} is not {until.words} after {timeout:g} s: {found}"
        if seen is None:
            return line
        scope = seen["metadata"].get("namespace") or "default"
        about = Kube(self._requests, self._kinds, scope).events(named.name)
        return f"{line}\n{report_object({'kind': named.kind.kind} | seen, about)}"
