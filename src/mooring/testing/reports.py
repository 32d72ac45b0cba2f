"""Objects and events as text, for error messages and the reports of failed tests. Pure."""

from collections.abc import Iterable, Sequence

from mooring.model.document import Doc

MOST_LINES = 60  # of one object
HIDDEN = "<hidden>"


def report_object(doc: Doc, events: Iterable[Doc]) -> str:
    """The object as YAML, without what only machines read, and its events."""
    import yaml

    lines = yaml.safe_dump(_shown(doc), sort_keys=False, allow_unicode=True).splitlines()
    if len(lines) > MOST_LINES:
        lines = [*lines[:MOST_LINES], f"... {len(lines) - MOST_LINES} more lines"]
    told = [f"  {line}" for line in lines]
    return "\n".join([*told, *_event_lines(events)])


def report_namespace(name: str, objects: Sequence[Doc], events: Sequence[Doc]) -> str:
    """One line per object, with its state; then the events."""
    lines = [f"objects of the namespace {name}:"]
    lines += [f"  {line}" for line in map(_line, objects)] or ["  none"]
    return "\n".join([*lines, *_event_lines(events)])


def report_events(events: Iterable[Doc]) -> str:
    return "\n".join(_event_lines(events))


def _line(doc: Doc) -> str:
    status = doc.get("status") or {}
    told = [f"{doc['kind']}/{doc['metadata']['name']}"]
    if "phase" in status:
        told.append(str(status["phase"]))
    told += [
        f"{one['type']}={one['status']}" + (f" ({why})" if why else "")
        for one in status.get("conditions") or ()
        for why in [one.get("message") or one.get("reason") or ""]
    ]
    if doc["metadata"].get("deletionTimestamp"):
        told.append("is being deleted")
    return "  ".join(told)


def _event_lines(events: Iterable[Doc]) -> list[str]:
    lines = [
        f"  {one.get('type', '')} {one.get('reason', '')} "
        f"{one.get('involvedObject', {}).get('kind', '')}/"
        f"{one.get('involvedObject', {}).get('name', '')}: {one.get('message', '')}"
        for one in sorted(events, key=_when)
    ]
    return ["events:", *(lines or ["  none"])]


def _when(event: Doc) -> str:
    return str(event.get("lastTimestamp") or event.get("eventTime") or "")


def _shown(doc: Doc) -> Doc:
    metadata = {name: value for name, value in doc["metadata"].items() if name != "managedFields"}
    shown = {**doc, "metadata": metadata}
    if doc.get("kind") == "Secret":
        shown |= {name: HIDDEN for name in ("data", "stringData") if name in doc}
    return shown
