"""JSON merge patches (RFC 7386): objects merge, null removes, everything else replaces."""

from typing import Any

from mooring import errors
from mooring.apiserver.patching import go_text
from mooring.apiserver.patching.copying import copied
from mooring.model.document import Doc


def merge_patch(doc: Doc, patch: Any) -> Doc:
    """The document after the patch. Neither argument is changed or shared with the result.

    Raises: BadRequest when the patch is no object, or nested too deeply to follow.
    """
    if patch is None:
        raise errors.BadRequest("Invalid JSON Patch")
    if not isinstance(patch, dict):
        raise errors.BadRequest(
            f"error decoding patch: json: cannot unmarshal {go_text.json_type(patch)}"
            " into Go value of type map[string]interface {}"
        )
    try:
        return _merged(doc, patch)
    except RecursionError:
        raise errors.BadRequest("error decoding patch: exceeded max depth") from None


def _merged(target: Any, patch: Doc) -> Doc:
    out: Doc = {}
    if isinstance(target, dict):
        out = {name: copied(value) for name, value in target.items() if name not in patch}
    else:
        target = {}
    for name, value in patch.items():
        if isinstance(value, dict):
            out[name] = _merged(target.get(name), value)
        elif value is not None:
            out[name] = copied(value)
    return out
