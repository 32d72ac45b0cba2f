"""The requests, by subject; the names of the cases read as a specification."""

from tests.conformance.asking import Cases
from tests.conformance.cases import (
    access,
    applying,
    apps,
    claims,
    core_kinds,
    decoding,
    deleting,
    discovery,
    events_and_leases,
    every_kind,
    listing,
    metadata,
    options,
    patching,
    pod_volumes,
    pods,
    quotas,
    rich,
    storage_kinds,
    volumes,
    watching,
    workloads,
)

_SUBJECTS = (
    every_kind,
    rich,
    metadata,
    claims,
    volumes,
    storage_kinds,
    pods,
    pod_volumes,
    core_kinds,
    quotas,
    events_and_leases,
    decoding,
    options,
    deleting,
    patching,
    applying,
    apps,
    listing,
    watching,
    discovery,
    access,
    workloads,
)

ALL: Cases = {name: case for subject in _SUBJECTS for name, case in subject.CASES.items()}
