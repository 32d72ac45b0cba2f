"""A webhook as it was configured."""

import msgspec

from mooring.apiserver.cel.expression import Expression
from mooring.apiserver.kinds.policy_expressions import compile_condition
from mooring.apiserver.policies.scope import Scope, read_scope
from mooring.model.document import Doc

_KNOWN_REVIEWS = ("v1", "v1beta1")


class Hook(msgspec.Struct, frozen=True, kw_only=True):
    """One webhook of a configuration."""

    configuration: str
    name: str
    client: Doc  # clientConfig
    scope: Scope
    conditions: tuple[tuple[str, Expression], ...] = ()
    fails_closed: bool
    seconds: float
    review: str  # the version of AdmissionReview that it is sent
    is_reinvoked: bool = False


def read_hooks(configuration: Doc) -> tuple[Hook, ...]:
    """The webhooks of a configuration, in their order."""
    name = configuration["metadata"]["name"]
    return tuple(_read(name, hook) for hook in configuration.get("webhooks") or ())


def _read(configuration: str, hook: Doc) -> Hook:
    reviews = hook["admissionReviewVersions"]
    return Hook(
        configuration=configuration,
        name=hook["name"],
        client=hook["clientConfig"],
        scope=read_scope(hook, "rules"),
        conditions=tuple(
            (each["name"], compile_condition(each["expression"]))
            for each in hook.get("matchConditions") or ()
        ),
        fails_closed=hook.get("failurePolicy") != "Ignore",
        seconds=float(hook.get("timeoutSeconds") or 10),
        review=next(version for version in reviews if version in _KNOWN_REVIEWS),
        is_reinvoked=hook.get("reinvocationPolicy") == "IfNeeded",
    )
