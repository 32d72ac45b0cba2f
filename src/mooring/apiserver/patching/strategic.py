"""Strategic merge patches: merge patches that know lists of named items, and have directives.

    $patch: delete | replace             in an object, or in an item of a merged list
    $retainKeys: [a, b]                  no other member survives in this object
    $setElementOrder/<list>: [...]       the order of the items, by merge key or by value
    $deleteFromPrimitiveList/<list>: []  items to take out of a set

A merged list without an order of its own has what the patch brings first, then the rest, while
items that both have keep their places.
"""

from collections.abc import Callable
from typing import Any

from mooring import errors
from mooring.apiserver.patching import go_text
from mooring.apiserver.patching.copying import copied
from mooring.apiserver.patching.shape import Shape, shape_of
from mooring.apiserver.schema.contract import Schema
from mooring.model.document import Doc

_DIRECTIVE = "$patch"
_RETAIN = "$retainKeys"
_ORDER = "$setElementOrder"
_DELETE = "$deleteFromPrimitiveList"


def strategic(doc: Doc, patch: Any, message: str, schema: Schema) -> Doc:
    """The document after the patch. Neither argument is changed or shared with the result.

    Raises: BadRequest when a directive is misshapen, ServerError when it does not fit the document.
    """
    if not isinstance(patch, dict):
        raise errors.BadRequest(
            f"json: cannot unmarshal {go_text.json_type(patch)}"
            " into Go value of type map[string]interface {}"
        )
    try:
        return _merged_object(doc, patch, shape_of(message, schema))
    except RecursionError:
        raise errors.BadRequest("exceeded max depth") from None


def _merged_object(original: Doc, patch: Doc, shape: Shape | None) -> Doc:
    if _DIRECTIVE in patch:
        return _replaced_object(patch)
    out = {name: copied(value) for name, value in _retained(original, patch).items()}
    ordered_lists = _merge_ordered_lists(out, patch, shape)
    for name, value in patch.items():
        if name == _RETAIN or name in ordered_lists or name.startswith(_ORDER):
            continue
        if name.startswith(_DELETE):
            _delete_from_list(out, _list_name(name, _DELETE), value)
        elif value is None:
            out.pop(name, None)
        else:
            _set_member(out, name, value, _member(shape, name))
    return out


def _set_member(out: Doc, name: str, value: Any, shape: Shape | None) -> None:
    old = out.get(name)
    if isinstance(old, dict) and isinstance(value, dict):
        out[name] = _merged_object(old, value, shape)
    elif isinstance(old, list) and isinstance(value, list):
        out[name] = _merged_list(old, value, shape)
    elif _has_directive(value):
        out.pop(name, None)  # nothing there to delete or replace
    else:
        out[name] = _undirected(value)


def _replaced_object(patch: Doc) -> Doc:
    match patch[_DIRECTIVE]:
        case "replace":
            return {
                k: _undirected(v) for k, v in patch.items() if k != _DIRECTIVE and v is not None
            }
        case "delete":
            return {}
        case unknown:
            raise _unknown_directive(unknown, patch)


def _retained(original: Doc, patch: Doc) -> Doc:
    if _RETAIN not in patch:
        return original
    if not isinstance(patch[_RETAIN], list):
        raise errors.BadRequest("invalid patch format of retainKeys")
    keep = {name for name in patch[_RETAIN] if isinstance(name, str)}
    for name, value in patch.items():
        is_directive = name == _RETAIN or name.startswith((_DELETE, _ORDER))
        if value is not None and not is_directive and name not in keep:
            raise errors.BadRequest("invalid patch format of retainKeys")
    return {name: value for name, value in original.items() if name in keep}


def _merge_ordered_lists(out: Doc, patch: Doc, shape: Shape | None) -> set[str]:
    """Merge the lists that the patch puts in order, and name them."""
    names = set()
    for directive, order in patch.items():
        if not directive.startswith(_ORDER):
            continue
        if not isinstance(order, list):
            raise _wrong_type(order)
        name = _list_name(directive, _ORDER)
        original, brought = out.get(name), patch.get(name)
        for value in (original, brought):
            if value is not None and not isinstance(value, list):
                raise _wrong_type(value)
        field = _member(shape, name)
        if field is None:
            raise errors.ServerError(
                "unable to find api field in struct "
                f'{shape.message.rpartition(".")[2] if shape else ""} for the json field "{name}"'
            )
        if brought is None and name in patch:
            continue  # null removes the list, whatever its order
        names.add(name)
        _check_order(brought or [], order, field.patch_key)
        merged = _merged_or_either(original, brought, field)
        if merged is not None:
            key_of = _key_of(field.patch_key)
            live = _live_order(original or [], merged, key_of)
            out[name] = _in_order(merged, order, live, key_of)
    return names


def _live_order(original: list[Any], merged: list[Any], key_of: Callable[[Any], Any]) -> list[Any]:
    """The live list as its order is seen: for each item deleted, one of the new ones at its end."""
    known, left = _places(original, key_of), _places(merged, key_of)
    kept = [item for item in original if key_of(item) in left]
    new = [item for item in merged if key_of(item) not in known]
    return [*kept, *new][: len(original)]


def _merged_or_either(
    original: list[Any] | None, brought: list[Any] | None, shape: Shape
) -> list[Any] | None:
    if brought is None:
        return original
    if original is None:
        return _undirected_items(brought)
    return _merged_list(original, brought, shape)


def _check_order(brought: list[Any], order: list[Any], patch_key: str) -> None:
    """The patch may bring only what its order has, and in that order."""
    if not order or not brought:
        return
    key_of = _key_of(patch_key)
    pending = brought
    if patch_key:
        for item in brought:
            if not isinstance(item, dict):
                raise _wrong_type(item, expected="map[string]interface {}")
        pending = [item for item in brought if item.get(_DIRECTIVE) != "delete"]
    at = 0
    for place in order:
        while at < len(pending) and _has_directive(pending[at]):
            at += 1
        if at < len(pending) and key_of(pending[at]) == key_of(place):
            at += 1
    if at < len(pending):
        raise errors.ServerError(
            f"The order in patch list:\n{go_text.plain(brought)}\n doesn't match {_ORDER} list:\n"
            f"{go_text.plain(order)}\n"
        )


def _merged_list(original: list[Any], patch: list[Any], shape: Shape | None) -> list[Any]:
    if shape is None or not shape.merges:
        return _undirected_items(patch)
    if not original and not patch:
        return original
    if not _are_objects(original, patch):
        merged = list(dict.fromkeys([*original, *patch]))
        return _in_order(merged, patch, original, _key_of(""))
    if not shape.patch_key:
        raise errors.ServerError("cannot merge lists without merge key for struct")
    return _merged_items(original, patch, shape)


def _merged_items(original: list[Any], patch: list[Any], shape: Shape) -> list[Any]:
    key_of = _key_of(shape.patch_key)
    brought = [item for item in patch if _DIRECTIVE not in item]
    gone, is_replaced = set(), False
    for item in patch:
        match item.get(_DIRECTIVE):
            case "delete":
                gone.add(key_of(item))
            case "replace":
                is_replaced = True
            case "merge":
                raise errors.ServerError("merging lists cannot yet be specified in the patch")
            case unknown if _DIRECTIVE in item:
                raise _unknown_directive(unknown, item)
            case _:
                pass
    if is_replaced:
        return _in_order(_undirected_items(brought), [], [], key_of)
    kept = [item for item in original if key_of(item) not in gone]
    merged = list(kept)
    places = _places(kept, key_of)
    for item in brought:
        place = places.setdefault(key_of(item), len(merged))
        if place < len(merged):
            merged[place] = _merged_object(merged[place], item, shape.item)
        else:
            merged.append(_undirected(item))
    return _in_order(merged, brought, kept, key_of)


def _in_order(
    merged: list[Any], order: list[Any], live: list[Any], key_of: Callable[[Any], Any]
) -> list[Any]:
    """Items that `order` has, in that order; the others put in where the live list has them.

    Both keep their own sequence. An item that the live list does not have goes before the others.
    """
    wanted, known = _places(order, key_of), _places(live, key_of)
    new = len(known)
    ours = [(wanted[key_of(item)], item) for item in merged if key_of(item) in wanted]
    theirs = [(known.get(key_of(item), new), item) for item in merged if key_of(item) not in wanted]
    ours.sort(key=_place)
    theirs.sort(key=_place)
    out, taken = [], 0
    for _, item in ours:
        place = known.get(key_of(item), -1)
        while taken < len(theirs) and theirs[taken][0] < place:
            out.append(theirs[taken][1])
            taken += 1
        out.append(item)
    return out + [item for _, item in theirs[taken:]]


def _place(placed: tuple[int, Any]) -> int:
    return placed[0]


def _places(items: list[Any], key_of: Callable[[Any], Any]) -> dict[Any, int]:
    """Where each key stands first."""
    out: dict[Any, int] = {}
    for place, item in enumerate(items):
        out.setdefault(key_of(item), place)
    return out


def _key_of(patch_key: str) -> Callable[[Any], Any]:
    """The identity of items: the value of the key or, without one, the item itself."""

    def key(item: Any) -> Any:
        if not isinstance(item, dict):
            raise _wrong_type(item, expected="map[string]interface {}")
        if patch_key not in item:
            raise errors.ServerError(
                f"map: {go_text.plain(item)} does not contain declared merge key: {patch_key}"
            )
        return _hashable(item[patch_key])

    return key if patch_key else _hashable


def _hashable(value: Any) -> Any:
    return go_text.plain(value) if isinstance(value, dict | list) else value


def _delete_from_list(out: Doc, name: str, items: Any) -> None:
    original = out.get(name)
    if not isinstance(original, list) or not isinstance(items, list):
        return
    if (original or items) and _are_objects(original, items):
        raise errors.ServerError("cannot merge lists without merge key for struct")
    gone = set(items)
    out[name] = [item for item in original if item not in gone]


def _are_objects(*lists: list[Any]) -> bool:
    """Whether lists that are to be one hold objects; they hold one type of item, and no lists."""
    types = {go_text.type_name(item) for items in lists for item in items}
    if "[]interface {}" in types:
        raise errors.Invalid(
            "the server rejected our request due to an error in our request", details={}
        )
    if len(types) > 1:
        raise errors.ServerError(
            f"list element types are not identical: {go_text.plain(list(lists))}"
        )
    return "map[string]interface {}" in types


def _undirected(value: Any) -> Any:
    """What a patch brings where there was nothing: no directives, no nulls."""
    if isinstance(value, dict):
        return {
            name: _undirected(inner)
            for name, inner in value.items()
            if inner is not None and not _is_directive(name) and not _has_directive(inner)
        }
    return _undirected_items(value) if isinstance(value, list) else value


def _undirected_items(items: list[Any]) -> list[Any]:
    return [_undirected(item) for item in items if not _has_directive(item)]


def _is_directive(name: str) -> bool:
    return name in (_DIRECTIVE, _RETAIN) or name.startswith((f"{_ORDER}/", f"{_DELETE}/"))


def _has_directive(value: Any) -> bool:
    return isinstance(value, dict) and _DIRECTIVE in value


def _member(shape: Shape | None, name: str) -> Shape | None:
    if shape is None:
        return None
    return shape.item if shape.fields is None else shape.fields.get(name)


def _list_name(directive: str, prefix: str) -> str:
    head, _, name = directive.partition("/")
    if head != prefix or not name:
        what = "primitive list" if prefix == _DELETE else "setElementOrder list"
        raise errors.BadRequest(f"invalid patch format of {what}")
    return name


def _unknown_directive(directive: Any, patch: Doc) -> errors.ServerError:
    return errors.ServerError(
        f"unknown patch type: {go_text.plain(directive)} in map: {go_text.plain(patch)}"
    )


def _wrong_type(value: Any, expected: str = "[]interface {}") -> errors.ServerError:
    return errors.ServerError(f"expected a {expected}, but received a {go_text.type_name(value)}")
