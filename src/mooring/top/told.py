"""Rows as text: one table, or JSON."""

from collections.abc import Mapping, Sequence

import msgspec

from mooring.top.rows import Row, Subject

SCHEMA = "mooring.top/v1"
UNKNOWN = "-"
_UNITS = ("B", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


class Column(msgspec.Struct, frozen=True):
    title: str
    is_number: bool = False


COLUMNS: Mapping[Subject, tuple[Column, ...]] = {
    Subject.PVC: (Column("NAMESPACE"), Column("CLAIM")),
    Subject.POD: (Column("NAMESPACE"), Column("POD"), Column("CLAIMS", is_number=True)),
    Subject.NODE: (Column("NODE"), Column("CLAIMS", is_number=True)),
}
FIGURES = tuple(Column(title, is_number=True) for title in ("USED", "SIZE", "USE%", "INODES%"))
PLACE: Mapping[Subject, tuple[Column, ...]] = {
    Subject.PVC: (Column("NODE"), Column("PODS")),
    Subject.POD: (Column("NODE"),),
    Subject.NODE: (),
}


def names(subject: Subject, row: Row) -> tuple[str, ...]:
    match subject:
        case Subject.PVC:
            return (printable(row.namespace), printable(row.name))
        case Subject.POD:
            return (printable(row.namespace), printable(row.name), str(row.volumes))
        case Subject.NODE:
            return (printable(row.name), str(row.volumes))


def figures(row: Row) -> tuple[str, ...]:
    sizes = (size(row.used_bytes), size(row.capacity_bytes))
    return (*sizes, percent(row.share), percent(row.inode_share))


def place(subject: Subject, row: Row) -> tuple[str, ...]:
    match subject:
        case Subject.PVC:
            pods = (pod.removeprefix(f"{row.namespace}/") for pod in row.pods)
            return (_several(row.nodes), _several(tuple(pods)))
        case Subject.POD:
            return (_several(row.nodes),)
        case Subject.NODE:
            return ()


def table(subject: Subject, rows: Sequence[Row]) -> Sequence[str]:
    """Lines; the first has the titles."""
    columns = (*COLUMNS[subject], *FIGURES, *PLACE[subject])
    cells = [tuple(column.title for column in columns)]
    cells += [(*names(subject, row), *figures(row), *place(subject, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "   ".join(
            cell.rjust(width) if column.is_number else cell.ljust(width)
            for cell, width, column in zip(line, widths, columns, strict=True)
        ).rstrip()
        for line in cells
    ]


def to_json(subject: Subject, rows: Sequence[Row], unseen: Mapping[str, str]) -> str:
    document = {
        "schema": SCHEMA,
        "subject": subject.value,
        "items": rows,
        "unseen": [{"node": node, "why": why} for node, why in unseen.items()],
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()


def unseen_lines(unseen: Mapping[str, str]) -> Sequence[str]:
    return [f"node {printable(node)}: {printable(why)}" for node, why in unseen.items()]


def size(value: int | None) -> str:
    """In the largest unit that leaves a number of at least 1: `512Mi`, `1.5Gi`."""
    if value is None:
        return UNKNOWN
    number, units = float(value), iter(_UNITS)
    unit = next(units)
    while abs(number) >= 1024 and (larger := next(units, None)) is not None:
        number, unit = number / 1024, larger
    text = f"{number:.0f}" if number >= 100 or unit == "B" else f"{number:.1f}"
    return f"{text.removesuffix('.0')}{unit}"


def percent(share: float | None) -> str:
    return UNKNOWN if share is None else f"{share * 100:.0f}%"


def printable(text: str) -> str:
    """Without characters that could move a terminal's cursor or hide text."""
    return "".join(char if char.isprintable() else "?" for char in text)


def _several(found: tuple[str, ...]) -> str:
    if not found:
        return UNKNOWN
    first = printable(found[0])
    return first if len(found) == 1 else f"{first} +{len(found) - 1}"
