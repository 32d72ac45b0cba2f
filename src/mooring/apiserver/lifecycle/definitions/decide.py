"""The status of a definition: which of its names it gets, and whether its kind is served. Pure.

Names compete within a group, against the accepted names of the other definitions: plural, singular
and short names for one set, kind and list kind for another. What was accepted once stays.
"""

from collections.abc import Iterable, Sequence

from mooring.apiserver.kinds.client_config import is_usable_bundle
from mooring.apiserver.kinds.definition.approval import Approval, approval, is_protected
from mooring.apiserver.kinds.definition.conditions import (
    APPROVAL,
    ESTABLISHED,
    NAMES_ACCEPTED,
    TERMINATING,
    condition,
    conditions,
    is_true,
    with_conditions,
)
from mooring.apiserver.kinds.definition.conversion import ca_bundle
from mooring.apiserver.kinds.definition.definition import FINALIZER
from mooring.model.document import Doc

_ACCEPTED = "the initial names have been accepted"


def decide_status(definition: Doc, others: Sequence[Doc], now: str) -> Doc:
    """The status that a definition should have.

    `others` are the accepted names of the other definitions of its group.
    """
    status = dict(definition.get("status") or {})
    names, accepted = _decide_names(definition, others)
    wanted = [accepted]
    bundle = ca_bundle(definition["spec"].get("conversion") or {})
    is_established = is_true(definition, ESTABLISHED)
    if not is_established and accepted["status"] == "True" and not is_usable_bundle(bundle):
        told = "The conversion webhook CABundle is invalid"
        established = condition(ESTABLISHED, "False", "InvalidCABundle", told)
    elif is_established or accepted["status"] == "True":
        established = condition(ESTABLISHED, "True", "InitialNamesAccepted", _ACCEPTED)
    else:
        established = condition(ESTABLISHED, "False", "NotAccepted", "not all names are accepted")
    wanted.append(established)
    if is_protected(definition["spec"].get("group", "")):
        found = approval(definition)
        is_approved = "True" if found.approval is Approval.APPROVED else "False"
        wanted.append(condition(APPROVAL, is_approved, found.approval.value, found.message))
    status["acceptedNames"] = names
    status["conditions"] = with_conditions(conditions(definition), wanted, now)
    return status


def is_settled(definition: Doc) -> bool:
    """Whether its status says what it should, whatever the others say: it has all its names."""
    if "deletionTimestamp" in definition["metadata"] or not is_true(definition, NAMES_ACCEPTED):
        return False
    status = definition.get("status") or {}
    return decide_status(definition, (), "") == status


def accepted_names(definition: Doc) -> Doc:
    return (definition.get("status") or {}).get("acceptedNames") or {}


def _decide_names(definition: Doc, others: Sequence[Doc]) -> tuple[Doc, Doc]:
    """The names that are accepted from now on, and the condition that says so."""
    wanted, names = definition["spec"]["names"], dict(accepted_names(definition))
    words = {word for other in others for word in _words(other)}
    kinds = {other.get(field, "") for other in others for field in ("kind", "listKind")} - {""}
    refused = condition(NAMES_ACCEPTED, "True", "NoConflicts", "no conflicts found")
    for field, reason, taken in (
        ("plural", "PluralConflict", words),
        ("singular", "SingularConflict", words),
        ("shortNames", "ShortNamesConflict", words),
        ("kind", "KindConflict", kinds),
        ("listKind", "ListKindConflict", kinds),
    ):
        asked = wanted.get(field)
        each = asked if isinstance(asked, list) else [asked] if asked else []
        in_use = [f'"{name}" is already in use' for name in each if name in taken]
        if in_use:
            text = in_use[0] if len(in_use) == 1 else f"[{', '.join(in_use)}]"
            refused = condition(NAMES_ACCEPTED, "False", reason, text)
        else:
            _set(names, field, asked)
    _set(names, "categories", wanted.get("categories"))
    return names, refused


def _words(names: Doc) -> Iterable[str]:
    found = (names.get("plural", ""), names.get("singular", ""), *(names.get("shortNames") or ()))
    return (name for name in found if name)


def _set(names: Doc, field: str, value: object) -> None:
    if value:
        names[field] = value
    else:
        names.pop(field, None)


# deletion


def deletion_begun(definition: Doc, now: str) -> Doc:
    reason = "CustomResource deletion is in progress"
    return _terminating(definition, "True", "InstanceDeletionInProgress", reason, now)


def deletion_held(definition: Doc, left: int, now: str) -> Doc:
    """Objects are left that finalizers hold."""
    counted = "1 CustomResource is" if left == 1 else f"{left} CustomResources are"
    text = f"could not confirm zero CustomResources remaining: {counted} held by finalizers"
    return _terminating(definition, "True", "InstanceDeletionCheck", text, now)


def deletion_done(definition: Doc, reason: str, message: str, now: str) -> Doc:
    """The definition without its finalizer: it goes, unless somebody else's holds it."""
    done = _terminating(definition, "False", reason, message, now)
    metadata = dict(done["metadata"])
    kept = [name for name in metadata.get("finalizers", ()) if name != FINALIZER]
    metadata["finalizers"] = kept
    if not kept:
        del metadata["finalizers"]
    return {**done, "metadata": metadata}


def _terminating(definition: Doc, status: str, reason: str, message: str, now: str) -> Doc:
    wanted = [condition(TERMINATING, status, reason, message)]
    after = with_conditions(conditions(definition), wanted, now)
    return {**definition, "status": {**(definition.get("status") or {}), "conditions": after}}
