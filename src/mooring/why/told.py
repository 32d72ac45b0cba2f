"""An answer as lines of text."""

from collections.abc import Iterator
from datetime import datetime

from mooring.model.age import age
from mooring.model.timestamp import to_seconds
from mooring.why.answer import Answer, CandidateGroup, Link, State, Verdict

MARKS = {
    State.DONE: "✓",
    State.WAITING: "…",
    State.BROKEN: "✗",
    State.UNKNOWN: "?",
    State.SKIPPED: "-",
}
MOST_NAMED = 3
MOST_TEXT = 4096  # characters of a sentence
_NEWLINES = str.maketrans("\n\r\t", "   ")


def told(answer: Answer, now: datetime, *, names_all: bool = False) -> Iterator[str]:
    """The verdict, the chain, who could be chosen, what helps, what could not be seen."""
    yield f"{clean(str(answer.subject))}: {answer.verdict.upper()}"
    yield f"  {sentence(answer.summary)}"
    if answer.links:
        yield ""
        width = max(len(link.step) for link in answer.links)
        for link in answer.links:
            yield from _link(link, width, now)
    if answer.candidates:
        yield ""
        for group in answer.candidates:
            yield from _group(group, names_all=names_all)
    if answer.fixes:
        yield ""
        yield "what helps:" if answer.verdict is not Verdict.FINE else "what can be done:"
        for fix in answer.fixes:
            yield f"  # {clean(fix.what_it_does)}"
            yield from (
                clean(f"  {line}" if "EOF" not in fix.command else line)
                for line in fix.command.split("\n")
            )
    for line in answer.unseen:
        yield f"not seen: {clean(line)}"


def _link(link: Link, width: int, now: datetime) -> Iterator[str]:
    yield f"  {MARKS[link.state]} {link.step:<{width}}  {sentence(f'{link.object}: {link.says}')}"
    if link.state not in {State.WAITING, State.BROKEN}:
        return
    more = [f"for {_age(link.since, now)}"] if link.since else []
    if link.until:
        more.append(f"until {link.until}")
    if link.who:
        more.append(f"{link.who} must act")
    if link.source != link.object:
        more.append(f"says {link.source}")
    if more:
        yield f"    {'':<{width}}  ({clean('; '.join(more))})"


def _age(moment: str, now: datetime) -> str:
    try:
        return age(moment, to_seconds(now))
    except ValueError:
        return moment


def _group(group: CandidateGroup, *, names_all: bool) -> Iterator[str]:
    shown = group.names if names_all else group.names[:MOST_NAMED]
    more = group.count - len(shown)
    rest = f" and {more} more" if more > 0 else ""
    noun = group.kind if group.count == 1 else f"{group.kind}s"
    yield clean(f"  {group.count} {noun}: {group.reason} ({', '.join(shown)}{rest})")


def sentence(text: str) -> str:
    """Clean, and of a bounded length; the whole is in the JSON."""
    if len(text) > MOST_TEXT:
        text = f"{text[:MOST_TEXT]}… ({len(text)} characters)"
    return clean(text)


def clean(text: str) -> str:
    """One line without control characters: texts come from objects that anybody may write."""
    return "".join(char for char in text.translate(_NEWLINES) if char.isprintable())
