"""Nobody gives away rights through roles but those who have all of them.

Kubernetes also lets those give who have just the rights in question; here that is not worked out.
"""

from mooring.apiserver.admission.contract import Attempt, Objects
from mooring.apiserver.auth.user import MASTERS
from mooring.apiserver.refusals import forbidden
from mooring.model.field_error import show

_WHAT_IS_GIVEN = ("rules", "aggregationRule", "subjects", "roleRef")


def check(attempt: Attempt, _: Objects) -> None:
    if MASTERS in attempt.user.groups or not _gives(attempt):
        return
    groups = " ".join(map(show, attempt.user.groups))
    raise forbidden(
        attempt.kind,
        attempt.name,
        f"user {show(attempt.user.name)} (groups=[{groups}]) is attempting to grant RBAC "
        "permissions not currently held",
    )


def _gives(attempt: Attempt) -> bool:
    """Changes of metadata, as garbage collection makes them, give nothing."""
    new, old = attempt.new or {}, attempt.old
    return old is None or any(new.get(field) != old.get(field) for field in _WHAT_IS_GIVEN)
