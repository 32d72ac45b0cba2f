"""What a version of a definition says of its documents; read when it is first asked for.

A server with hundreds of definitions starts without reading their schemas.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cached_property
from typing import Any

from mooring.apiserver.cel.rules import CompiledRules, compile_rules
from mooring.apiserver.custom.finalizers import finalizer_warnings
from mooring.apiserver.custom.paths import find
from mooring.apiserver.kinds.contract import ScalePaths
from mooring.apiserver.kinds.embedded_metadata import validate_embedded
from mooring.apiserver.structural.contract import Node, once
from mooring.apiserver.structural.defaults import TooManyDefaults, fill_defaults
from mooring.apiserver.structural.embedded import embedded_problems
from mooring.apiserver.structural.list_types import list_type_problems
from mooring.apiserver.structural.parse import node_of
from mooring.apiserver.structural.prune import drop_nulls, prune
from mooring.apiserver.structural.validate import skips_rules, validate
from mooring.errors import TooLarge
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, invalid

_MOST_REPLICAS = 2**31 - 1


class VersionStructure:
    """Implements `kinds.contract.Structure`. `read` gives the schema as it was written."""

    def __init__(self, read: Callable[[], Doc], scale: ScalePaths | None, digest: str) -> None:
        self.digest = digest
        self._read = read
        self._scale = scale
        self._tolerated: tuple[Doc | None, list[str]] = (None, [])

    @cached_property
    def node(self) -> Node:
        return node_of(self._read())

    def written(self) -> Doc:
        return self._read()

    # reading

    def renew(self, doc: Doc) -> None:
        """Bring a stored document up to the schema of today.

        It stays readable where that has more defaults than there is room for: they end there.
        """
        prune(doc, self.node)
        drop_nulls(doc, self.node)
        with suppress(TooManyDefaults):
            fill_defaults(doc, self.node)

    def fill(self, doc: Doc) -> None:
        """Raises: TooLarge."""
        try:
            fill_defaults(doc, self.node)
        except TooManyDefaults:
            raise TooLarge(
                "the defaults of its schema would make this object larger than may be stored"
            ) from None

    # judging

    def judge_new(self, doc: Doc) -> Iterable[FieldError]:
        return self._judge(doc, None)

    def judge_update(self, new: Doc, old: Doc) -> Iterable[FieldError]:
        return self._judge(new, old)

    def judge_status(self, new: Doc, old: Doc) -> Iterable[FieldError]:
        """Only the status is held to the schema; lists and rules are those of the whole."""
        errors: list[FieldError] = []
        status = self.node.properties.get("status")
        if status is not None and "status" in new:
            errors = validate(new["status"], status, old=old.get("status"), at="status")
        errors += self._scale_problems(new)
        errors += list_type_problems(new, self.node, old=old)
        return self._with_rules(errors, new, old)

    def _judge(self, doc: Doc, old: Doc | None) -> list[FieldError]:
        errors = validate(doc, self.node, old=old)
        errors += self._scale_problems(doc)
        errors += embedded_problems(doc, self.node, validate_embedded)
        errors += list_type_problems(doc, self.node, old=old)
        return self._with_rules(errors, doc, old)

    def warnings(self, new: Doc, old: Doc) -> Iterable[str]:
        """With rules that an update breaks where it changed nothing: known since it was judged."""
        judged, texts = self._tolerated
        return (*finalizer_warnings(new, old), *(texts if judged is new else ()))

    def _with_rules(self, errors: list[FieldError], doc: Doc, old: Doc | None) -> list[FieldError]:
        if not once(self.node, "has rules", _has_rules):
            return errors
        rules = self._rules
        if isinstance(rules, list):
            return [*errors, *rules]
        skipped = skips_rules(errors)
        if skipped is not None:
            return [*errors, skipped]
        found = rules.check(doc, old)
        self._tolerated = (doc, [str(warning) for warning in found.warnings])
        return [*errors, *found.errors]

    @cached_property
    def _rules(self) -> CompiledRules | list[FieldError]:
        """The rules, or why they cannot be checked: then nothing is written."""
        return compile_rules(self.node, "")

    def _scale_problems(self, doc: Doc) -> Iterable[FieldError]:
        if self._scale is None:
            return
        for names in (self._scale.replicas, self._scale.status_replicas):
            value: Any = find(doc, names)
            if value is None or isinstance(value, bool) or not isinstance(value, int | float):
                continue  # a wrong type is for the schema to say
            path = "." + ".".join(names)
            if value < 0:
                yield invalid(path, value, "should be a non-negative integer")
            elif value > _MOST_REPLICAS:
                yield invalid(path, value, f"should be less than or equal to {_MOST_REPLICAS}")


def _has_rules(node: Node) -> bool:
    below = (*node.properties.values(), node.additional, node.items)
    return bool(node.rules) or any(isinstance(n, Node) and _has_rules(n) for n in below)
