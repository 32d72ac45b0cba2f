"""The conditions of a CustomResourceDefinition, read and set."""

from collections.abc import Iterable

from mooring.model.document import Doc

ESTABLISHED = "Established"
NAMES_ACCEPTED = "NamesAccepted"
TERMINATING = "Terminating"
APPROVAL = "KubernetesAPIApprovalPolicyConformant"


def condition(kind: str, status: str, reason: str, message: str) -> Doc:
    """A condition; `with_conditions` says since when."""
    return {"type": kind, "status": status, "reason": reason, "message": message}


def is_true(definition: Doc, kind: str) -> bool:
    return any(
        each.get("type") == kind and each.get("status") == "True" for each in conditions(definition)
    )


def conditions(definition: Doc) -> Iterable[Doc]:
    return (definition.get("status") or {}).get("conditions") or ()


def with_conditions(known: Iterable[Doc], wanted: Iterable[Doc], now: str) -> list[Doc]:
    """The known conditions with the wanted ones in their places, the new ones behind them."""
    out = {each["type"]: each for each in known}
    for each in wanted:
        before = out.get(each["type"])
        is_same = before is not None and before.get("status") == each["status"]
        since = before["lastTransitionTime"] if before is not None and is_same else now
        out[each["type"]] = {
            "lastTransitionTime": since,
            "message": each["message"],
            "reason": each["reason"],
            "status": each["status"],
            "type": each["type"],
        }
    return list(out.values())
