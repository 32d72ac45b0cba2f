"""JSON patches (RFC 6902), with the manners and the limits of the Kubernetes API server.

Beyond the RFC: negative indices count from the end of a list, `replace` sets a missing member of an
object, and `test` for null holds where there is nothing.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from mooring import errors
from mooring.apiserver.limits.json_size import check_values
from mooring.apiserver.patching import go_text
from mooring.apiserver.patching.copying import copied
from mooring.model.document import Doc

MOST_OPERATIONS = 10_000
MOST_COPIED_BYTES = 3 * 1024 * 1024  # by all `copy` operations of a patch together
DEEPEST = 200  # lists and objects within each other, in the result

_ENCODE = msgspec.json.Encoder(order="sorted").encode
_DECODE = msgspec.json.Decoder().decode


class Unfit(Exception):
    """The patch does not fit the document."""


class TestFailed(Unfit):
    """A `test` found another value."""

    __test__ = False  # for pytest


def json_patch(doc: Doc, operations: Any) -> Doc:
    """The document after all operations. Neither argument is changed or shared with the result.

    Raises: BadRequest when `operations` is no list of operations, TooLarge when there are too many,
    Invalid when one of them fails; the text does not say which, as upstream's does not.
    """
    steps = _decoded(operations)
    if len(steps) > MOST_OPERATIONS:
        raise errors.TooLarge(
            "Request entity too large: The allowed maximum operations in a JSON patch is "
            f"{MOST_OPERATIONS}, got {len(steps)}"
        )
    try:
        return patched(doc, steps)
    except (Unfit, RecursionError):
        raise errors.Invalid(
            "the server rejected our request due to an error in our request", details={}
        ) from None


def patched(doc: Doc, steps: Sequence[Doc]) -> Doc:
    """The same of operations that are well-formed. Raises: Unfit, whose text says which of them
    does not fit; RecursionError."""
    draft = _Draft(copied(doc))
    for step in steps:
        draft.run(step)
    return draft.result()


def _decoded(operations: Any) -> list[Doc]:
    if operations is None:
        return []
    if not isinstance(operations, list):
        raise _undecodable(operations, "value of type []handlers.jsonPatchOp")
    for operation in operations:
        if operation is None:
            continue
        if not isinstance(operation, dict):
            raise _undecodable(operation, "value of type handlers.jsonPatchOp")
        for member in ("op", "path", "from"):
            value = operation.get(member)
            if value is not None and not isinstance(value, str):
                raise _undecodable(value, f"struct field jsonPatchOp.{member} of type string")
    return [operation or {} for operation in operations]


def _undecodable(value: Any, target: str) -> errors.BadRequest:
    return errors.BadRequest(
        f"error decoding patch: json: cannot unmarshal {go_text.json_type(value)} into Go {target}"
    )


class _NoKey(Unfit):
    """An object has no member of this name."""


class _NoIndex(Unfit):
    """A list has no item at this index."""


def _why(step: Doc, error: Unfit) -> str:
    """What of a step does not fit, in the words of the library that upstream patches with."""
    name, path, source = step["op"], step.get("path") or "", step.get("from") or ""
    match error:
        case _NoKey():
            at = path if name == "remove" else error
            told = f"Unable to remove nonexistent key: {error}: missing value"
            return f"error in {name} for path: '{at}': {told}"
        case _NoIndex():
            told = f"Unable to access invalid index: {error}: invalid index referenced"
            return f"error in {name} for path: '{path}': {told}"
        case _:
            pass
    missing = {
        "test": f"is missing path: {path}",
        "replace": f"doc is missing path: {path}",
        "move": f"doc is missing from path: {source}",
        "copy": f"doc is missing from path: {source}",
    }
    what = missing.get(name, f"doc is missing path: {go_text.quoted(path)}")
    return f"{name} operation does not apply: {what}: missing value"


class _Draft:
    """A document under change, all its own."""

    def __init__(self, doc: Doc) -> None:
        self._root: Any = doc
        self._copied_bytes = 0

    def run(self, step: Doc) -> None:
        name = step.get("op") or ""
        act = _ACTS.get(name)
        if act is None:
            raise Unfit(f"Unexpected kind: {name}")
        try:
            act(self, step)
        except TestFailed:
            raise
        except Unfit as error:
            raise Unfit(_why(step, error)) from None

    def result(self) -> Doc:
        if not isinstance(self._root, dict) or _depth(self._root) > DEEPEST:
            raise Unfit("what it makes is no object, or too deep")
        check_values(_ENCODE(self._root))  # operations may be more than a document holds
        return self._root

    def add(self, step: Doc) -> None:
        self._put(_pointer(step, "path"), copied(step.get("value")))

    def remove(self, step: Doc) -> None:
        _take(*self._find(_pointer(step, "path")))

    def replace(self, step: Doc) -> None:
        pointer = _pointer(step, "path")
        value = copied(step.get("value"))
        if not pointer:
            self._root = value
            return
        container, key = self._find(pointer)
        if isinstance(container, dict):
            container[key] = value
        else:
            container[_index(key, len(container))] = value

    def move(self, step: Doc) -> None:
        value = _take(*self._find(_pointer(step, "from")))
        self._put(_pointer(step, "path"), value)

    def copy(self, step: Doc) -> None:
        encoded = _ENCODE(_look(*self._find(_pointer(step, "from"))))
        self._copied_bytes += len(encoded)
        if self._copied_bytes > MOST_COPIED_BYTES:
            raise Unfit
        self._put(_pointer(step, "path"), _DECODE(encoded))

    def test(self, step: Doc) -> None:
        pointer = _pointer(step, "path")
        found = _look(*self._find(pointer)) if pointer else self._root
        # by text, for 1 is neither true nor 1.0 here
        if _ENCODE(found) != _ENCODE(step.get("value")):
            raise TestFailed

    def _put(self, pointer: list[str], value: Any) -> None:
        container, key = self._find(pointer)
        if isinstance(container, dict):
            container[key] = value
        elif key == "-":
            container.append(value)
        else:
            container.insert(_index(key, len(container) + 1), value)

    def _find(self, pointer: list[str]) -> tuple[Any, str]:
        """The list or object that holds what the pointer is about, and the name in it."""
        if not pointer:
            raise Unfit
        container = self._root
        for token in pointer[:-1]:
            container = _look(container, token)
            if not isinstance(container, dict | list):
                raise Unfit
        return container, pointer[-1]


_ACTS: dict[str, Callable[[_Draft, Doc], None]] = {
    "add": _Draft.add,
    "remove": _Draft.remove,
    "replace": _Draft.replace,
    "move": _Draft.move,
    "copy": _Draft.copy,
    "test": _Draft.test,
}


def _pointer(step: Doc, member: str) -> list[str]:
    text = step.get(member)
    if text is None or (text and not text.startswith("/")):
        raise Unfit
    return [token.replace("~1", "/").replace("~0", "~") for token in text.split("/")[1:]]


def _look(container: Any, key: str) -> Any:
    if isinstance(container, dict):
        return container.get(key)
    return container[_index(key, len(container))]


def _take(container: Any, key: str) -> Any:
    if isinstance(container, list):
        return container.pop(_index(key, len(container)))
    if key not in container:
        raise _NoKey(key)
    return container.pop(key)


def _index(key: str, length: int) -> int:
    digits = key[1:] if key[:1] in {"-", "+"} else key
    if not (digits.isascii() and digits.isdigit() and len(digits) < 10):
        raise _NoIndex(key)
    index = int(key)
    if not -length <= index < length:
        raise _NoIndex(key)
    return index % length


def _depth(value: Any) -> int:
    """How many lists and objects are within each other; found without recursion."""
    depth = 0
    level = [value]
    while level:
        depth += 1
        inner: list[Any] = []
        for node in level:
            children = node.values() if isinstance(node, dict) else node
            inner.extend(child for child in children if isinstance(child, dict | list))
        level = inner
    return depth
