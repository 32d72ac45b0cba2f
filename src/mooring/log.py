"""Log lines: a time, a fixed sentence, then fields.

`log = get("mooring.store"); log.info("opened", path=p)` prints
`time=... level=info at=mooring.store msg=opened path=...`, or the same as a JSON object. Secrets
have types that cannot print themselves. A warning that is repeated word for word is printed once a
minute, with how often it was `repeated` since.
"""

import json
import logging
import sys
from collections import OrderedDict
from datetime import UTC, datetime
from typing import Final

MOST_SHOWN = 2048  # characters of one field
QUIET_SECONDS = 60.0  # in which a repeated warning is counted, not printed
MOST_COUNTED = 1000  # warnings that are known to be repeated
TEXT: Final = "text"
JSON: Final = "json"
OF_OTHERS: Final = ("asyncio", "aiohttp", "grpc")  # loggers of libraries that warn at times


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
            told = {_PAIRS: pairs}
            self._logger.log(level, "%s", line, exc_info=with_traceback, extra=told)


def get(name: str) -> Log:
    return Log(name)


def to_stderr(level: str = "info", format: str = TEXT) -> None:
    """Send log lines to standard error; called once, by a command."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLine() if format == JSON else TextLine())
    handler.addFilter(Repeats())
    for name in ("mooring", *OF_OTHERS):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
    logging.getLogger("mooring").setLevel(level.upper())


class Repeats(logging.Filter):
    """Lets a warning through when it is new, or was not printed for a while."""

    def __init__(self) -> None:
        super().__init__()
        self._shown: OrderedDict[str, tuple[float, int]] = OrderedDict()  # when, and repeats since

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        key = f"{record.name} {record.getMessage()} {record.exc_info and record.exc_info[1]!r}"
        since, repeats = self._shown.pop(key, (None, 0))
        if since is not None and abs(record.created - since) < QUIET_SECONDS:
            self._shown[key] = (since, repeats + 1)
            return False
        self._shown[key] = (record.created, 0)
        if len(self._shown) > MOST_COUNTED:
            self._shown.popitem(last=False)
        setattr(record, _REPEATED, repeats)
        return True


class TextLine(logging.Formatter):
    """`name=value` pairs on one line; a traceback follows on lines of its own."""

    def format(self, record: logging.LogRecord) -> str:
        said = record.getMessage()
        if not hasattr(record, _PAIRS):
            said = f"msg={_quote(said)}"
        line = f"time={_time(record)} level={record.levelname.lower()} at={record.name} {said}"
        if repeats := getattr(record, _REPEATED, 0):
            line += f" repeated={repeats}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonLine(logging.Formatter):
    """One JSON object on one line, its traceback in it; numbers stay numbers."""

    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, object] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        pairs = getattr(record, _PAIRS, {"msg": record.getMessage()})
        for name, value in pairs.items():
            told[f"{name}_" if name in told else name] = _plain(value)
        if repeats := getattr(record, _REPEATED, 0):
            told["repeated"] = repeats
        if record.exc_info:
            told["traceback"] = self.formatException(record.exc_info)
        return json.dumps(told)


_PAIRS: Final = "mooring_pairs"
_REPEATED: Final = "mooring_repeated"


def _time(record: logging.LogRecord) -> str:
    """RFC 3339, in UTC."""
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _plain(value: object) -> object:
    if value is None or isinstance(value, bool | int | float):
        return value
    return _short(str(value))


def _short(text: str) -> str:
    return text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + "..."


def _quote(value: object) -> str:
    """`value` on one line, without control characters, cut to `MOST_SHOWN`."""
    text = _short(str(value))
    plain = text.isprintable() and not any(c in text for c in ' "=')
    if plain and text:
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    if not escaped.isprintable():
        escaped = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in escaped)
    return f'"{escaped}"'
