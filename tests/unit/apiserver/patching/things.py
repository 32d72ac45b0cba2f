"""A small kind with every way a field can be merged, for the tests of patching."""

from typing import Any

from hypothesis import strategies as st

from mooring.apiserver.schema.contract import Field, Merge, Message, Scalar, Schema, Shape
from mooring.model.document import Doc

THING = "test.v1.Thing"
NOW = "2025-01-01T00:00:00Z"
LATER = "2025-01-02T00:00:00Z"

_STRING = Scalar.STRING


def _message(name: str, *fields: Field, atomic: bool = False) -> Message:
    return Message(f"test.v1.{name}", {field.name: field for field in fields}, atomic)


def _map(name: str, merge: Merge = Merge.GRANULAR) -> Field:
    return Field(name, 0, _STRING, Shape.MAP, merge)


def _list(
    name: str, merge: Merge = Merge.ATOMIC, kind: Scalar | str = _STRING, **more: Any
) -> Field:
    return Field(name, 0, kind, Shape.LIST, merge, **more)


def _keyed(name: str, kind: str, *keys: str, **more: Any) -> Field:
    return _list(name, Merge.KEYED, f"test.v1.{kind}", keys=keys, patch_key=keys[0], **more)


def _one(name: str, kind: str, merge: Merge = Merge.GRANULAR, **more: Any) -> Field:
    return Field(name, 0, f"test.v1.{kind}", merge=merge, **more)


SCHEMA = Schema(
    {
        message.name: message
        for message in (
            _message(
                "Thing",
                Field("apiVersion", 0, _STRING),
                Field("kind", 0, _STRING),
                _one("metadata", "Meta"),
                _map("data"),
                _one("spec", "Spec"),
                _one("status", "Status"),
            ),
            _message(
                "Meta",
                *(Field(name, 0, _STRING) for name in ("name", "namespace", "uid")),
                Field("resourceVersion", 0, _STRING),
                Field("deletionTimestamp", 0, Scalar.TIME),
                _map("labels"),
                _map("annotations"),
                _list("finalizers", Merge.SET),
                _keyed("owners", "Owner", "uid"),
                _list("managedFields", kind=Scalar.ANY),
            ),
            _message(
                "Owner",
                Field("uid", 0, _STRING, required=True),
                Field("kind", 0, _STRING),
                atomic=True,
            ),
            _message(
                "Spec",
                Field("size", 0, Scalar.INT32),
                _list("modes"),
                _map("selector", Merge.ATOMIC),
                _keyed("parts", "Part", "name", required=True),
                _one("limits", "Limits"),
                _one("source", "Source", inline=True),
                _one("target", "Reference", Merge.ATOMIC, pointer=True),
                _one("claim", "Reference", pointer=True),
                Field("anything", 0, Scalar.ANY),
            ),
            _message(
                "Reference", Field("name", 0, _STRING), Field("kind", 0, _STRING), atomic=True
            ),
            _message("Limits", _map("most"), Field("least", 0, Scalar.INT32)),
            _message("Source", _one("disk", "Disk", pointer=True)),
            _message("Disk", Field("path", 0, _STRING), _map("options")),
            _message(
                "Part",
                Field("name", 0, _STRING, required=True),
                Field("color", 0, _STRING),
                _list("tags", Merge.SET),
                _keyed("ports", "Port", "port", "protocol"),
                _one("inner", "Part", pointer=True),
            ),
            _message("Port", Field("port", 0, Scalar.INT32), Field("protocol", 0, _STRING)),
            _message(
                "Status", Field("phase", 0, _STRING), _keyed("conditions", "Condition", "type")
            ),
            _message("Condition", Field("type", 0, _STRING), Field("status", 0, _STRING)),
        )
    }
)


def a_thing(*, metadata: Doc | None = None, **parts: Any) -> Doc:
    """A document of the kind, of what the caller says and no more."""
    return {
        "apiVersion": "test/v1",
        "kind": "Thing",
        "metadata": {"name": "t", "namespace": "n", **(metadata or {})},
        **parts,
    }


_NAMES = st.sampled_from("abcd")
_VALUES = st.sampled_from(["1", "2", "3"])
_ENTRIES = st.dictionaries(_NAMES, _VALUES, min_size=1, max_size=3)
_ITEMS = st.lists(_NAMES, min_size=1, max_size=3, unique=True)


def _some(**members: st.SearchStrategy[Any]) -> st.SearchStrategy[Doc]:
    return st.fixed_dictionaries({}, optional=members)


def _named(key: str, **members: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Doc]]:
    item = st.fixed_dictionaries({key: _NAMES}, optional=members)
    return st.lists(item, min_size=1, max_size=3, unique_by=lambda it: str(it[key]))


_PORTS = st.lists(
    st.fixed_dictionaries({"port": st.sampled_from([80, 443]), "protocol": st.just("TCP")}),
    min_size=1,
    max_size=2,
    unique_by=lambda port: str(port["port"]),
)
_PARTS = _named("name", color=_VALUES, tags=_ITEMS, ports=_PORTS)
_METADATA = _some(
    labels=_ENTRIES, annotations=_ENTRIES, finalizers=_ITEMS, owners=_named("uid", kind=_VALUES)
)
_SPEC = _some(
    size=st.integers(1, 3),
    modes=_ITEMS,
    selector=_ENTRIES,
    parts=_PARTS,
    limits=st.fixed_dictionaries({"most": _ENTRIES}, optional={"least": st.integers(1, 3)}),
    disk=st.fixed_dictionaries({"path": _VALUES}, optional={"options": _ENTRIES}),
    target=st.fixed_dictionaries({"name": _VALUES}),
    claim=st.fixed_dictionaries({"name": _VALUES}),
)


def things() -> st.SearchStrategy[Doc]:
    """Documents without empty lists, maps and messages, which say nothing of their own."""
    return st.builds(
        _assembled, _METADATA, st.none() | _ENTRIES, _SPEC.map(lambda spec: spec or None)
    )


def _assembled(metadata: Doc, data: Doc | None, spec: Doc | None) -> Doc:
    parts = {"data": data, "spec": spec}
    return a_thing(metadata=metadata, **{k: v for k, v in parts.items() if v is not None})


_SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "b"])


def json_values() -> st.SearchStrategy[Any]:
    return st.recursive(
        _SCALARS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3),
        max_leaves=8,
    )


def json_objects() -> st.SearchStrategy[Doc]:
    return st.dictionaries(_NAMES, json_values(), max_size=4)


def spoil(value: Any) -> None:
    """Change every list and object within a value: whoever shares one with it, is changed, too."""
    if isinstance(value, dict):
        for inner in value.values():
            spoil(inner)
        value["spoilt"] = True
    elif isinstance(value, list):
        for inner in value:
            spoil(inner)
        value.append("spoilt")
