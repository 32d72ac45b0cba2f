"""Which objects a list or a watch is about: label and field selectors, checked for the kind."""

from collections.abc import Callable
from functools import lru_cache

import msgspec

from mooring.apiserver.documents.document import Facts
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.limits.budgets import MOST_TERMS
from mooring.apiserver.limits.short_memo import LONGEST, MOST_KEPT
from mooring.apiserver.request.options import ListOptions
from mooring.apiserver.verbs.backend import Backend
from mooring.errors import BadRequest
from mooring.model.selector import (
    FieldSelector,
    LabelSelector,
    Operator,
    Requirement,
    find_int64,
    parse_fields,
    parse_labels,
)

FEW_TERMS = 8  # are judged at once for every watcher; more of them wait for their turn

Accepts = Callable[[str | None], bool]


class Selection(msgspec.Struct, frozen=True):
    """Terms that must all hold: of a label (absent: None), of a field (absent: empty)."""

    labels: tuple[tuple[str, Accepts], ...] = ()
    fields: tuple[tuple[str, Accepts], ...] = ()

    @property
    def is_all(self) -> bool:
        return not self.labels and not self.fields

    @property
    def is_costly(self) -> bool:
        return len(self.labels) + len(self.fields) > FEW_TERMS

    def picks(self, facts: Facts) -> bool:
        known = facts.labels
        for key, accepts in self.labels:
            if not accepts(known.get(key)):
                return False
        known = facts.fields
        return all(accepts(known.get(name, "")) for name, accepts in self.fields)


EVERYTHING = Selection()


async def selection_in_turn(backend: Backend, kind: Kind, options: ListOptions) -> Selection:
    """As `selection`; a long one is read when it is the caller's turn."""
    if len(options.labels) + len(options.fields) > LONGEST:
        await backend.turns.next()
    return selection(kind, options)


def selection(kind: Kind, options: ListOptions) -> Selection:
    """Raises BadRequest for a selector that cannot be read or a field the kind does not offer."""
    labels, fields = options.labels, options.fields
    if not labels and not fields:
        return EVERYTHING
    if len(labels) + len(fields) <= LONGEST:
        return _kept(kind, labels, fields)
    return _selection(kind, labels, fields)


def _selection(kind: Kind, label_text: str, field_text: str) -> Selection:
    try:
        labels, fields = parse_labels(label_text), parse_fields(field_text)
    except ValueError as error:
        raise BadRequest(str(error)) from error
    _check_count("label", len(labels.requirements))
    _check_count("field", len(fields.terms))
    _check_fields(kind, fields)
    return Selection(_label_terms(labels), _field_terms(fields))


_kept = lru_cache(maxsize=MOST_KEPT)(_selection)


def _check_count(sort: str, count: int) -> None:
    if count > MOST_TERMS:
        raise BadRequest(f"a {sort} selector may have at most {MOST_TERMS} terms, got {count}")


def _label_terms(selector: LabelSelector) -> tuple[tuple[str, Accepts], ...]:
    """The terms, each once."""
    return tuple((each.key, _accepts(each)) for each in dict.fromkeys(selector.requirements))


def _accepts(requirement: Requirement) -> Accepts:
    values = frozenset[str | None](requirement.values)
    match requirement.operator:
        case Operator.EQUALS | Operator.DOUBLE_EQUALS | Operator.IN:
            return values.__contains__
        case Operator.NOT_EQUALS | Operator.NOT_IN:
            return lambda value: value not in values
        case Operator.EXISTS:
            return lambda value: value is not None
        case Operator.ABSENT:
            return lambda value: value is None
        case Operator.GREATER | Operator.LESS:
            return _compares(requirement)


def _compares(requirement: Requirement) -> Accepts:
    bound = find_int64(requirement.values[0])
    is_greater = requirement.operator is Operator.GREATER

    def accepts(value: str | None) -> bool:
        number = find_int64(value)
        if number is None or bound is None:
            return False
        return number > bound if is_greater else number < bound

    return accepts


def _field_terms(selector: FieldSelector) -> tuple[tuple[str, Accepts], ...]:
    """The terms, each once."""
    return tuple(
        (term.field, term.value.__eq__ if term.op == "=" else term.value.__ne__)
        for term in dict.fromkeys(selector.terms)
    )


def _check_fields(kind: Kind, fields: FieldSelector) -> None:
    known = {"metadata.name", "metadata.namespace", *kind.fields}
    for term in fields.terms:
        if term.field not in known:
            if kind.fields or kind.structure is not None:
                raise BadRequest(f"field label not supported: {term.field}")
            raise BadRequest(
                f'"{term.field}" is not a known field selector: '
                'only "metadata.name", "metadata.namespace"'
            )
