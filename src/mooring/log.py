"""Log lines: a fixed sentence, then fields.

`log = get("mooring.store"); log.info("opened", path=p)` prints
`level=info at=mooring.store msg=opened path=...`. Secrets have types that cannot print themselves.
"""

import logging
import sys

MOST_SHOWN = 2048  # characters of one field


class Log:
    """A logger whose fields are keyword arguments."""

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(name)

    def debug(self, sentence: str, **fields: object) -> None:
        self._emit(logging.DEBUG, sentence, fields)

    def info(self, sentence: str, **fields: object) -> None:
        self._emit(logging.INFO, sentence, fields)

    def warning(self, sentence: str, **fields: object) -> None:
        self._emit(logging.WARNING, sentence, fields)

    def exception(self, sentence: str, **fields: object) -> None:
        self._emit(logging.ERROR, sentence, fields, with_traceback=True)

    def _emit(
        self,
        level: int,
        sentence: str,
        fields: dict[str, object],
        *,
        with_traceback: bool = False,
    ) -> None:
        if self._logger.isEnabledFor(level):
            pairs = {"msg": sentence, **fields}
            line = " ".join(f"{name}={_quote(value)}" for name, value in pairs.items())
            self._logger.log(level, "%s", line, exc_info=with_traceback)


def get(name: str) -> Log:
    return Log(name)


def to_stderr(level: str = "info") -> None:
    """Send log lines to standard error; called once, by a command."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Line())
    root = logging.getLogger("mooring")
    root.handlers = [handler]
    root.setLevel(level.upper())
    root.propagate = False


class _Line(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = f"level={record.levelname.lower()} at={record.name} {record.getMessage()}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def _quote(value: object) -> str:
    """`value` on one line, without control characters, cut to `MOST_SHOWN`."""
    text = str(value)
    if len(text) > MOST_SHOWN:
        text = text[:MOST_SHOWN] + "..."
    plain = text.isprintable() and not any(c in text for c in ' "=')
    if plain and text:
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    if not escaped.isprintable():
        escaped = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in escaped)
    return f'"{escaped}"'
