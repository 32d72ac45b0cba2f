"""Names that come again and again, judged once: keys, finalizers, classes, drivers.

Names of objects are not among them: each comes once.
"""

from collections.abc import Callable, Iterable
from functools import lru_cache

LONGEST = 253  # characters of a name that is worth remembering

Rule = Callable[[str], Iterable[str]]


def is_good(rule: Rule, name: str) -> bool:
    """Whether a rule finds nothing wrong with a name. False may also mean: ask the rule itself."""
    return len(name) <= LONGEST and _is_good(rule, name)


@lru_cache(maxsize=4096)
def _is_good(rule: Rule, name: str) -> bool:
    return not any(rule(name))
