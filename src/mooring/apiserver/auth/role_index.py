"""Cluster roles by name and by label: which of them an aggregated one is made of."""

from collections.abc import Iterable

import msgspec

from mooring.model.document import Doc
from mooring.model.selector import from_document

_encode = msgspec.json.Encoder(order="sorted").encode


class RoleIndex:
    """All cluster roles at one moment. A role whose selectors were looked at is remembered."""

    def __init__(self, roles: Iterable[Doc]) -> None:
        self.roles: dict[str, Doc] = {}
        self._by_label: dict[tuple[str, str], list[str]] = {}
        self._chosen: dict[str, frozenset[str]] = {}
        self._by_selector: dict[bytes, frozenset[str]] = {}
        self._known: dict[frozenset[str], frozenset[str]] = {}  # many select the same
        for role in roles:
            self.add(role)

    def add(self, role: Doc) -> None:
        """Before `chosen` is first asked."""
        name = role["metadata"]["name"]
        self.roles[name] = role
        for label in (role["metadata"].get("labels") or {}).items():
            self._by_label.setdefault(label, []).append(name)

    def chosen(self, name: str) -> frozenset[str]:
        """The names of the roles that this one selects; itself may be among them."""
        known = self._chosen.get(name)
        if known is None:
            rule = self.roles[name].get("aggregationRule") or {}
            selectors = rule.get("clusterRoleSelectors") or ()
            made = frozenset(one for each in selectors for one in self._selected(each))
            known = self._chosen[name] = self._known.setdefault(made, made)
        return known

    def _selected(self, selector: Doc) -> frozenset[str]:
        words = _encode(selector)
        known = self._by_selector.get(words)
        if known is None:
            known = self._by_selector[words] = frozenset(self._select(selector))
        return known

    def _select(self, selected: Doc) -> Iterable[str]:
        """Of a selector with labels, only the roles that have the rarest of them are looked at."""
        selector = from_document(selected)
        labels = (selected.get("matchLabels") or {}).items()
        candidates = min((self._by_label.get(label, ()) for label in labels), key=len, default=None)
        for name in self.roles if candidates is None else candidates:
            if selector.matches(self.roles[name]["metadata"].get("labels") or {}):
                yield name
