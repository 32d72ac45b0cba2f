"""What the tests of expressions share: an expression in, its value or its error out."""

from collections.abc import Mapping
from typing import Any

from mooring.apiserver.cel.call_cost import MOST_PER_EXPRESSION
from mooring.apiserver.cel.environment import compile_text, environment
from mooring.apiserver.cel.errors import CelError, CompileError
from mooring.apiserver.cel.types import CelType

NO_TYPES: Mapping[str, CelType] = {}


def run(text: str, types: Mapping[str, CelType] = NO_TYPES, **values: Any) -> tuple[Any, int]:
    """The value or error, and the cost."""
    _, program = compile_text(text, environment(types, {}))
    return program.run(values, MOST_PER_EXPRESSION)


def value(text: str, types: Mapping[str, CelType] = NO_TYPES, **values: Any) -> Any:
    result, _ = run(text, types, **values)
    if isinstance(result, CelError):
        raise result
    return result


def error(text: str, types: Mapping[str, CelType] = NO_TYPES, **values: Any) -> str:
    result, _ = run(text, types, **values)
    assert isinstance(result, CelError), result
    return str(result)


def compile_error(text: str, types: Mapping[str, CelType] = NO_TYPES) -> str:
    try:
        compile_text(text, environment(types, {}))
    except CompileError as raised:
        return str(raised)
    raise AssertionError(f"{text} compiles")
