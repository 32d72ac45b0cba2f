"""Access modes of claims and volumes: which may stand together, and how a table prints them."""

from collections.abc import Iterable, Sequence

from mooring.model.field_error import FieldError, forbidden, not_supported

READ_WRITE_ONCE_POD = "ReadWriteOncePod"

_SHORT = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    READ_WRITE_ONCE_POD: "RWOP",
}
_KNOWN = frozenset(_SHORT)
_LISTED = tuple(sorted(_SHORT))


def validate_access_modes(modes: Sequence[str], path: str) -> Iterable[FieldError]:
    """Complaints about modes that are there; whether some must be there, the caller knows."""
    if _KNOWN.issuperset(modes) and (READ_WRITE_ONCE_POD not in modes or len(set(modes)) == 1):
        return ()
    return _complaints(modes, f"{path}.accessModes")


def _complaints(modes: Sequence[str], field: str) -> Iterable[FieldError]:
    for mode in modes:
        if mode not in _KNOWN:
            yield not_supported(field, mode, _LISTED)
    known = _KNOWN.intersection(modes)
    if READ_WRITE_ONCE_POD in known and len(known) > 1:
        yield forbidden(field, "may not use ReadWriteOncePod with other access modes")


def abbreviate(modes: Iterable[str]) -> str:
    """`RWO,RWX`: each mode once, in an order of their own."""
    present = frozenset(modes)
    return ",".join(short for mode, short in _SHORT.items() if mode in present)
