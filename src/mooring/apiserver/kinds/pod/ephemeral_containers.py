"""Ephemeral containers: they join a pod that runs, to look into it, and never leave it."""

from collections.abc import Iterable

from mooring.apiserver.kinds.contract import Context
from mooring.apiserver.kinds.immutability import changes, same
from mooring.apiserver.kinds.pod.isolation import validate_isolation
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, forbidden, show

_FIELD = "spec.ephemeralContainers"
_OF_A_FILE = "kubernetes.io/config.mirror"  # on the likeness of a pod that a node runs from a file


def keep_all_but_debuggers(new: Doc, old: Doc, _: Context) -> None:
    """Of what was sent, only the ephemeral containers count."""
    debuggers = new.get("spec", {}).get("ephemeralContainers")
    spec = {field: value for field, value in old["spec"].items() if field != "ephemeralContainers"}
    if debuggers:
        spec["ephemeralContainers"] = debuggers
    kept = {field: value for field, value in old["metadata"].items() if field != "managedFields"}
    if "managedFields" in new["metadata"]:
        kept["managedFields"] = new["metadata"]["managedFields"]
    new.clear()
    new.update({**old, "metadata": kept, "spec": spec})


def validate_debuggers(new: Doc, old: Doc) -> Iterable[FieldError]:
    if _OF_A_FILE in old["metadata"].get("annotations", {}):
        yield forbidden("", "static pods do not support ephemeral containers")
        return
    for error in validate_isolation(new):
        if error.field.startswith(_FIELD):
            yield error
    now = {
        debugger.get("name"): debugger for debugger in new["spec"].get("ephemeralContainers", ())
    }
    for before in old["spec"].get("ephemeralContainers", ()):
        name = show(before["name"])
        if before["name"] not in now:
            yield forbidden(_FIELD, f"existing ephemeral containers {name} may not be removed\n")
        elif not same(now[before["name"]], before):
            what = changes(now[before["name"]], before, _FIELD)
            yield forbidden(
                _FIELD, f"existing ephemeral containers {name} may not be changed\n{what}"
            )
