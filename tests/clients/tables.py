"""The tables that `kubectl get` prints, read back."""

import re

Row = dict[str, str]

_COLUMN = re.compile(r"\S+(?: \S+)*\s*")


def read_tables(printed: str) -> list[Row]:
    """The rows, column by column; several tables have an empty line between them."""
    return [row for table in printed.split("\n\n") for row in _read(table)]


def _read(table: str) -> list[Row]:
    header, *lines = table.splitlines()
    columns = [
        (found[0].rstrip(), found.start(), found.end()) for found in _COLUMN.finditer(header)
    ]
    last = columns[-1][0]
    return [
        {name: line[start : None if name == last else end].strip() for name, start, end in columns}
        for line in lines
    ]
