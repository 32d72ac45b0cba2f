"""Reads the `*.schema` files of this folder.

    # a comment
    package core.v1

    message ObjectReference atomic -- What it is, in one sentence.
      kind       1 string
      conditions 4 Condition[] key=type patch=type -- What it says, in one sentence.

`package` opens a group of messages; with several names the messages exist under each of them.
`message` opens a message. `kind` after its name: it stands alone on the wire, so `kind` and
`apiVersion` are among its fields. `atomic`: server-side apply replaces it whole.

A field is: JSON name, protobuf number (0: never in protobuf), type, flags, and after ` -- ` its
description. The type is a scalar or a message (of the same package unless it has dots), followed by
`[]` for a list or `{}` for a map with string keys. Flags:

    pointer    presence has meaning: an empty value is not the same as none
    inline     its fields stand in the parent's JSON object; the name is only that of protobuf.
               On a list: the whole message stands in JSON as this list
    required   always there in what a server answers
    shown      as required, but only in what a server answers: a pointer is null
    key=a,b    server-side apply tells the items of the list apart by these fields
    set        server-side apply owns each item by itself; strategic merge adds to the list
    replace    strategic merge replaces the set whole
    atomic     a map or message that is replaced whole
    granular   merged field by field, though the message it refers to is atomic
    patch=a    strategic merge tells the items of the list apart by this field
    retain     strategic merge honours `$retainKeys`
    since=1.37 the release of Kubernetes that brought it
    until=1.35 the last one that has it
    off        behind a feature gate that is off there: it is read, and left out

Of a single message `Field.merge` has the last word; of the items of a list, `Message.atomic`.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from mooring.apiserver.schema.contract import Field, Merge, Message, Scalar, Schema, Shape
from mooring.apiserver.schema.releases import newest_messages, older_messages
from mooring.model.kubernetes_version import NEWEST, VERSIONS

_SCALARS = {scalar.value: scalar for scalar in Scalar}
_SHAPES = {"[]": Shape.LIST, "{}": Shape.MAP}

_OF_A_KIND = (
    Field("apiVersion", 0, Scalar.STRING, description="The group and version it is written in."),
    Field("kind", 0, Scalar.STRING, description="What kind of object it is."),
)


@cache
def load() -> Schema:
    """All messages of this folder."""
    files = sorted(Path(__file__).parent.glob("*.schema"))
    return parse((file.name, file.read_text(encoding="utf-8")) for file in files)


def parse(files: Iterable[tuple[str, str]]) -> Schema:
    """The messages of some files, given as (name, text). Raises: ValueError."""
    drafts: dict[str, _Draft] = {}
    for name, text in files:
        for draft in _drafts(name, text):
            if draft.name in drafts:
                raise ValueError(f"{name}: {draft.name} is defined twice")
            drafts[draft.name] = draft
    messages = {name: draft.message(drafts) for name, draft in drafts.items()}
    others = [one.minor for one in VERSIONS.values() if one is not NEWEST]
    return Schema(newest_messages(messages), older_messages(messages, others))


class _Draft:
    """A message whose references to others are not resolved yet."""

    def __init__(self, package: str, head: list[str], description: str) -> None:
        self.package = package
        self.name = f"{package}.{head[1]}"
        self.description = description
        self.atomic = "atomic" in head[2:]
        self.lines: list[tuple[list[str], str]] = []
        self.is_kind = "kind" in head[2:]

    def message(self, others: dict[str, "_Draft"]) -> Message:
        fields = {field.name: field for field in _OF_A_KIND} if self.is_kind else {}
        for words, description in self.lines:
            field = _field(words, description, self.package, others)
            if field.name in fields:
                raise ValueError(f"{self.name}.{field.name} is defined twice")
            fields[field.name] = field
        return Message(self.name, fields, self.atomic, self.description)


def _drafts(file: str, text: str) -> Iterator[_Draft]:
    packages: list[str] = []
    current: list[_Draft] = []
    for line in text.splitlines():
        body, _, description = line.partition(" -- ")
        words = body.split()
        if not words or words[0] == "#":
            continue
        if line[0] == " ":
            for draft in current:
                draft.lines.append((words, description))
        elif words[0] == "package":
            yield from current
            packages, current = words[1:], []
        elif words[0] == "message":
            yield from current
            current = [_Draft(package, words, description) for package in packages]
        else:
            raise ValueError(f"{file}: cannot read {line!r}")
    yield from current


def _field(words: list[str], description: str, package: str, others: dict[str, _Draft]) -> Field:
    name, number, kind, *flags = words
    shape = _SHAPES.get(kind[-2:], Shape.ONE)
    if shape is not Shape.ONE:
        kind = kind[:-2]
    scalar = _SCALARS.get(kind)
    if scalar is None and "." not in kind:
        kind = f"{package}.{kind}"
    if scalar is None and kind not in others:
        raise ValueError(f"{package}: field {name} is of an unknown type {kind}")
    merge = Merge.ATOMIC if shape is Shape.LIST else Merge.GRANULAR
    if shape is Shape.ONE and scalar is None and others[kind].atomic:
        merge = Merge.ATOMIC
    options: dict[str, Any] = {}
    for flag in flags:
        flag_name, _, value = flag.partition("=")
        match flag_name:
            case "pointer" | "inline" | "required" | "shown" | "off":
                options[flag_name] = True
            case "replace":
                options["patch_replaces"] = True
            case "since" | "until":
                options[flag_name] = int(value.removeprefix("1."))
            case "retain":
                options["retain_keys"] = True
            case "patch":
                options["patch_key"] = value
            case "key":
                merge, options["keys"] = Merge.KEYED, tuple(value.split(","))
            case "set" | "atomic" | "granular":
                merge = Merge(flag_name)
            case _:
                raise ValueError(f"{package}: field {name} has an unknown flag {flag}")
    return Field(
        name,
        int(number),
        _SCALARS.get(kind, kind),
        shape,
        merge,
        description=description,
        **options,
    )
