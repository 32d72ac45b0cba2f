"""The requests, by subject; the names of the cases read as a specification."""

from tests.conformance.asking import Cases
from tests.conformance.cases import claims, every_kind, storage_kinds, volumes

ALL: Cases = {
    **every_kind.CASES,
    **claims.CASES,
    **volumes.CASES,
    **storage_kinds.CASES,
}
