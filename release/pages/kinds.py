"""Every kind that the API server serves, and every field, from `apiserver/kinds` and the schema."""

from collections.abc import Iterable, Mapping

from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.kinds.registry import builtin
from mooring.apiserver.schema.contract import Field, Message, Scalar, Shape
from mooring.apiserver.schema.parse import load

_WRITTEN = "Written by `make docs-generated` from `src/mooring/apiserver`; a test keeps it true.\n"
_HEAD = f"""# Supported kinds

{_WRITTEN}
What is not here is answered with 404, as on a cluster that does not know it; custom resources add
to it ([custom resources](../custom-resources.md)). A field that is not listed is refused, or
dropped with a warning, as `fieldValidation` says. What a node makes of the fields of a pod:
[fields of pods](../pod-fields.md).

| kind | API | name in paths | short | scope | subresources | verbs |
|---|---|---|---|---|---|---|
"""
_FIELDS = "fields-{group}.md"


def texts() -> dict[str, str]:
    """By file name: the table of kinds, and one page of fields for each group of messages."""
    messages = load().messages
    kinds = sorted(builtin().all(), key=lambda kind: (kind.group, kind.kind, kind.version))
    table = _HEAD + "".join(_row(kind, messages) for kind in kinds)
    groups: dict[str, list[Message]] = {}
    for message in messages.values():
        groups.setdefault(_group(message.name), []).append(message)
    pages = {_FIELDS.format(group=group): _page(group, found) for group, found in groups.items()}
    return {"kinds.md": table, **dict(sorted(pages.items()))}


def _row(kind: Kind, messages: Mapping[str, Message]) -> str:
    version = f"{kind.group}/{kind.version}" if kind.group else kind.version
    parts = sorted(
        {*(part.name for part in kind.subresources), *(["status"] if kind.status else [])}
    )
    verbs = "all" if len(kind.verbs) == 8 else ", ".join(kind.verbs)
    name = f"[{kind.kind}]({_link(kind.message, '')})" if kind.message in messages else kind.kind
    scope = "namespace" if kind.namespaced else "cluster"
    short = ", ".join(kind.short_names)
    return (
        f"| {name} | {version} | `{kind.plural}` | {short} | {scope} | {', '.join(parts)} "
        f"| {verbs} |\n"
    )


def _page(group: str, messages: Iterable[Message]) -> str:
    ordered = sorted(messages, key=lambda message: message.name)
    head = f"# Fields of {group}\n\n{_WRITTEN}"
    return head + "".join(_section(message) for message in ordered)


def _section(message: Message) -> str:
    title = _short(message.name)
    about = f"\n{message.description}\n" if message.description else ""
    rows = "".join(_field(field, message) for field in message.fields.values())
    table = (
        f"\n| field | type | what it says |\n|---|---|---|\n{rows}" if rows else "\nNo fields.\n"
    )
    return f'\n## <a id="{_anchor(message.name)}"></a>{title}\n{about}{table}'


def _field(field: Field, message: Message) -> str:
    about = field.description.replace("|", "\\|")
    if field.inline:
        about = "its fields stand here"
    about = " ".join(filter(None, (about, _release(field))))
    name = f"`{field.name}`" + (" (required)" if field.required else "")
    return f"| {name} | {_type(field, message)} | {about} |\n"


def _release(field: Field) -> str:
    """In which releases of Kubernetes it is, unless in all that are followed."""
    told = [f"Since 1.{field.since}."] if field.since else []
    if field.off:
        told.append("Left out, as upstream with its feature gate off.")
    return " ".join(told)


def _type(field: Field, message: Message) -> str:
    if isinstance(field.type, Scalar):
        word = field.type.value
    else:
        word = f"[{_short(field.type)}]({_link(field.type, _group(message.name))})"
    shapes = {Shape.ONE: "{}", Shape.LIST: "list of {}", Shape.MAP: "map of {}"}
    return shapes[field.shape].format(word)


def _group(name: str) -> str:
    return name.partition(".")[0]


def _short(name: str) -> str:
    """`core.v1.Pod` is called Pod, `events.v1.Event` too; the version tells twins apart."""
    _, version, kind = name.split(".", 2)
    return kind if version == "v1" else f"{kind} ({version})"


def _anchor(name: str) -> str:
    return name.lower().replace(".", "-")


def _link(name: str, of_group: str) -> str:
    page = "" if _group(name) == of_group else _FIELDS.format(group=_group(name))
    return f"{page}#{_anchor(name)}"
