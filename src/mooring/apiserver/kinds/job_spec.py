"""The spec of a Job, which CronJobs have too: defaults and validation."""

from collections.abc import Iterable
from typing import Final

from mooring.apiserver.kinds.job_policies import (
    validate_failure_policy,
    validate_success_policy,
)
from mooring.apiserver.kinds.pod.template import default_template, validate_template
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, invalid, not_supported, required, too_long

_COUNTS = (
    *("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit"),
    *("ttlSecondsAfterFinished", "backoffLimitPerIndex", "maxFailedIndexes"),
)
_MODES = ("NonIndexed", "Indexed")
_REPLACEMENTS = ("Failed", "TerminatingOrFailed")
_MOST_PARALLEL = 100_000
_MANY = 100_000
_MOST_PARALLEL_OF_MANY = 10_000
_LONGEST_MANAGER = 63
NO_LIMIT: Final = 2**31 - 1


def default_job_spec(spec: Doc) -> None:
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    if spec.get("parallelism") is None:
        spec["parallelism"] = 1
    if spec.get("backoffLimit") is None:
        per_index = spec.get("backoffLimitPerIndex") is not None
        spec["backoffLimit"] = NO_LIMIT if per_index else 6
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("manualSelector", False)
    if spec.get("podReplacementPolicy") is None:
        policy = "TerminatingOrFailed" if spec.get("podFailurePolicy") is None else "Failed"
        spec["podReplacementPolicy"] = policy
    default_template(spec.setdefault("template", {}))


def validate_job_spec(spec: Doc, path: str) -> Iterable[FieldError]:
    for field in _COUNTS:
        if (number := spec.get(field)) is not None and number < 0:
            yield invalid(f"{path}.{field}", number, "must be greater than or equal to 0")
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        yield required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    if (manager := spec.get("managedBy")) is not None:
        yield from _validate_manager(manager, f"{path}.managedBy")
    if spec.get("completionMode") not in _MODES:
        yield not_supported(f"{path}.completionMode", spec.get("completionMode"), _MODES)
    yield from _validate_indexed(spec, path)
    if spec.get("podFailurePolicy") is not None:
        yield from validate_failure_policy(spec, f"{path}.podFailurePolicy")
    if (policy := spec.get("successPolicy")) is not None:
        if spec.get("completionMode") != "Indexed":
            yield invalid(f"{path}.successPolicy", policy, "requires indexed completion mode")
        else:
            yield from validate_success_policy(spec, f"{path}.successPolicy")
    yield from _validate_replacement(spec, f"{path}.podReplacementPolicy")
    yield from validate_template(spec["template"], f"{path}.template")
    yield from _validate_restarts(spec, f"{path}.template.spec.restartPolicy")


def _validate_manager(manager: str, path: str) -> Iterable[FieldError]:
    domain, _, rest = manager.partition("/")
    if not manager:
        yield required(path)
    elif not domain or not rest:
        why = 'must be a domain-prefixed path (such as "acme.io/foo")'
        yield invalid(path, manager, why)
    if len(manager) > _LONGEST_MANAGER:
        yield too_long(path, _LONGEST_MANAGER)


def _validate_indexed(spec: Doc, path: str) -> Iterable[FieldError]:
    failed, most_failed = spec.get("backoffLimitPerIndex"), spec.get("maxFailedIndexes")
    if spec.get("completionMode") != "Indexed":
        for field, value in (("backoffLimitPerIndex", failed), ("maxFailedIndexes", most_failed)):
            if value is not None:
                yield invalid(f"{path}.{field}", value, "requires indexed completion mode")
        return
    completions, parallel = spec.get("completions"), spec.get("parallelism") or 0
    if completions is None:
        yield required(f"{path}.completions", "when completion mode is Indexed")
        return
    if parallel > _MOST_PARALLEL:
        why = f"must be less than or equal to {_MOST_PARALLEL} when completion mode is Indexed"
        yield invalid(f"{path}.parallelism", parallel, why)
    if most_failed is not None and most_failed > completions:
        why = "must be less than or equal to completions"
        yield invalid(f"{path}.maxFailedIndexes", most_failed, why)
    if most_failed is not None and most_failed > _MOST_PARALLEL:
        why = f"must be less than or equal to {_MOST_PARALLEL}"
        yield invalid(f"{path}.maxFailedIndexes", most_failed, why)
    if completions > _MANY and failed is not None:
        yield from _validate_many(parallel, most_failed, path)


def _validate_many(parallel: int, most_failed: int | None, path: str) -> Iterable[FieldError]:
    if most_failed is None:
        why = f"must be specified when completions is above {_MANY}"
        yield required(f"{path}.maxFailedIndexes", why)
    limit = _MOST_PARALLEL_OF_MANY
    why = (
        f"must be less than or equal to {limit} when completions are above {_MANY} and used with "
        "backoff limit per index"
    )
    if parallel > limit:
        yield invalid(f"{path}.parallelism", parallel, why)
    if most_failed is not None and most_failed > limit:
        yield invalid(f"{path}.maxFailedIndexes", most_failed, why)


def _validate_replacement(spec: Doc, path: str) -> Iterable[FieldError]:
    policy = spec.get("podReplacementPolicy")
    known = _REPLACEMENTS if spec.get("podFailurePolicy") is None else _REPLACEMENTS[:1]
    if policy not in known:
        yield not_supported(path, policy, known)


def _validate_restarts(spec: Doc, path: str) -> Iterable[FieldError]:
    policy = spec["template"]["spec"].get("restartPolicy", "")
    if policy in ("Always", ""):
        yield required(path, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        yield not_supported(path, policy, ("OnFailure", "Never"))
    elif spec.get("podFailurePolicy") is not None and policy != "Never":
        why = 'only "Never" is supported when podFailurePolicy is specified'
        yield invalid(path, policy, why)
