"""Answers kept by the text that was asked about, when that text is short.

A cache that is bounded by entries alone holds as many bytes as its keys have: any
client could fill the memory with texts that never come again. Texts that come again are short.
"""

from collections.abc import Callable
from functools import lru_cache, update_wrapper
from inspect import signature
from typing import Concatenate, ParamSpec, TypeVar, cast

LONGEST = 256  # characters of a text that is worth remembering
MOST_KEPT = 512  # answers of one function

Text = TypeVar("Text", str, str | None)
P = ParamSpec("P")
R = TypeVar("R")
Asked = Callable[Concatenate[Text, P], R]


def short_memo(function: Asked[Text, P, R]) -> Asked[Text, P, R]:
    """`function`, its answers kept by its arguments, the first of which is a text that clients
    write; the others are chosen by the server. Answers are shared: callers only read them."""
    kept = lru_cache(maxsize=MOST_KEPT)(function)
    whole = cast(Callable[[Text], R], function)

    def look_up(text: Text, /, *args: P.args, **kwargs: P.kwargs) -> R:
        if text is None or len(text) <= LONGEST:
            return kept(text, *args, **kwargs)  # type: ignore[arg-type]  # all of them are hashable
        return function(text, *args, **kwargs)

    def look_up_one(text: Text, /) -> R:  # the same, and twice as fast: each request asks often
        if text is None or len(text) <= LONGEST:
            return kept(text)
        return whole(text)

    if len(signature(function).parameters) == 1:
        return cast(Asked[Text, P, R], update_wrapper(look_up_one, function))
    return update_wrapper(look_up, function)
