"""Sets of completion indexes in the words of a Job: `0-2,5`."""

from collections.abc import Iterable, Iterator


def spelled(indexes: Iterable[int]) -> str:
    """In order; three neighbours or more together."""
    parts: list[str] = []
    for first, last in _intervals(sorted(set(indexes))):
        if last - first > 1:
            parts.append(f"{first}-{last}")
        else:
            parts += map(str, range(first, last + 1))
    return ",".join(parts)


def _intervals(ordered: Iterable[int]) -> Iterator[tuple[int, int]]:
    first = last = None
    for index in ordered:
        if first is None or last is None:
            first = last = index
        elif index == last + 1:
            last = index
        else:
            yield first, last
            first = last = index
    if first is not None and last is not None:
        yield first, last


def parse(text: str, completions: int) -> frozenset[int]:
    """What a status says, as far as it makes sense: indexes from `completions` on are dropped."""
    found: set[int] = set()
    for part in text.split(",") if text else ():
        first, _, last = part.partition("-")
        if not first.isdecimal() or not (last or first).isdecimal():
            continue
        end = min(int(last or first), completions - 1)
        found.update(range(int(first), end + 1))
    return frozenset(found)


def count(text: str, completions: int) -> int:
    """How many indexes a user's text names. Raises: ValueError in the API's words."""
    total, previous = 0, -1
    for part in text.split(",") if text else ():
        words = part.split("-")
        if len(words) > 2:
            raise ValueError(
                f'the fragment "{part}" violates the requirement that an index interval can have '
                "at most two parts separated by '-'"
            )
        first = _number(words[0])
        if first >= completions:
            raise ValueError(f'too large index: "{words[0]}"')
        if first <= previous:
            raise ValueError(f"non-increasing order, previous: {previous}, current: {first}")
        last = first
        if len(words) == 2:
            last = _number(words[1])
            if last >= completions:
                raise ValueError(f'too large index: "{words[1]}"')
            if last <= first:
                raise ValueError(f"non-increasing order, previous: {first}, current: {last}")
        total += last - first + 1
        previous = last
    return total


def _number(word: str) -> int:
    digits = word.removeprefix("+").removeprefix("-")
    if not (digits.isascii() and digits.isdigit()):
        raise ValueError(f'cannot convert string to integer for index: "{word}"')
    return int(word)
