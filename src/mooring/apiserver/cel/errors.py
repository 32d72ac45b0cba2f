"""What can go wrong with an expression: it does not compile, or its evaluation ends in an error."""

from collections.abc import Iterable
from dataclasses import dataclass

NO_SUCH_OVERLOAD = "no such overload"
_WIDE_DOT, _WIDE_MARK = "\uff0e", "\uff3e"  # under what is not ASCII, as cel-go has it
_MOST_SHOWN = 100  # issues of one expression


class CelError(Exception):
    """An evaluation that ended in an error, in cel-go's words; `&&` and `||` may absorb it."""

    fatal = False


class CostExceeded(CelError):
    """The evaluation cost more than it may: nothing absorbs this."""

    fatal = True

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


@dataclass(frozen=True, slots=True)
class Issue:
    """One mistake in the text of an expression; `at` counts characters, -1: nowhere in it."""

    at: int
    text: str


class CompileError(Exception):
    """An expression that does not compile; its text names the place of each mistake."""

    def __init__(self, source: str, issues: Iterable[Issue]) -> None:
        self.issues = tuple(issues)
        super().__init__(_render(source, self.issues))


class ProgramError(CompileError):
    """An expression that has the right types and yet can never be evaluated."""

    def __init__(self, text: str) -> None:
        Exception.__init__(self, text)
        self.issues = ()


def _render(source: str, issues: tuple[Issue, ...]) -> str:
    lines = source.split("\n")
    placed = sorted((*_place(lines, issue.at), issue.text) for issue in issues)
    shown = [_show(lines, *one) for one in placed[:_MOST_SHOWN]]
    if len(placed) > _MOST_SHOWN:
        shown.append(f"{len(placed) - _MOST_SHOWN} more errors were truncated")
    return "\n".join(shown)


def _place(lines: list[str], at: int) -> tuple[int, int]:
    """Line and column, both from 0."""
    if at < 0:
        return -2, -1
    for number, line in enumerate(lines):
        if at <= len(line):
            return number, at
        at -= len(line) + 1
    return len(lines) - 1, len(lines[-1])


def _show(lines: list[str], line: int, column: int, text: str) -> str:
    head = f"ERROR: <input>:{line + 1}:{column + 1}: {text}"
    if line < 0:
        return head
    snippet = lines[line].replace("\t", " ")
    dots = "".join(_WIDE_DOT if ord(char) > 127 else "." for char in snippet[:column])
    mark = _WIDE_MARK if column < len(snippet) and ord(snippet[column]) > 127 else "^"
    return f"{head}\n | {snippet}\n | {dots}{mark}"
