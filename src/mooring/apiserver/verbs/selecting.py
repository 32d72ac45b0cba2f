"""Which objects a list or a watch is about: label and field selectors, checked for the kind."""

from functools import lru_cache

import msgspec

from mooring.apiserver.document import Facts
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.options import ListOptions
from mooring.errors import BadRequest
from mooring.model.selector import FieldSelector, LabelSelector, parse_fields, parse_labels


class Selection(msgspec.Struct, frozen=True):
    labels: LabelSelector | None
    fields: FieldSelector | None

    @property
    def is_all(self) -> bool:
        return self.labels is None and self.fields is None

    def picks(self, facts: Facts) -> bool:
        if self.labels is not None and not self.labels.matches(facts.labels):
            return False
        return self.fields is None or self.fields.matches(lambda name: facts.fields.get(name, ""))


@lru_cache(maxsize=1024)
def selection(kind: Kind, options: ListOptions) -> Selection:
    """Raises BadRequest for a selector that cannot be read or a field the kind does not offer."""
    labels = fields = None
    try:
        if options.labels:
            labels = parse_labels(options.labels)
        if options.fields:
            fields = parse_fields(options.fields)
    except ValueError as error:
        raise BadRequest(str(error)) from error
    if fields is not None:
        _check_fields(kind, fields)
    return Selection(labels, fields)


def _check_fields(kind: Kind, fields: FieldSelector) -> None:
    known = {"metadata.name", "metadata.namespace", *kind.fields}
    for term in fields.terms:
        if term.field not in known:
            if kind.fields:
                raise BadRequest(f"field label not supported: {term.field}")
            raise BadRequest(
                f'"{term.field}" is not a known field selector: '
                'only "metadata.name", "metadata.namespace"'
            )
