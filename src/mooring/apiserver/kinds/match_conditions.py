"""Expressions in configurations of admission: those that choose writes, and any other."""

from collections.abc import Callable, Iterable

from mooring.apiserver.cel.errors import CompileError
from mooring.apiserver.cel.expression import Expression, WrongResultError
from mooring.apiserver.kinds.policy_expressions import compile_condition
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, duplicate, invalid, required
from mooring.model.names import qualified_name

MOST_CONDITIONS = 64

Compile = Callable[[str], Expression]


def validate_conditions(
    conditions: list[Doc], path: str, compile: Compile = compile_condition
) -> Iterable[FieldError]:
    """Match conditions, also of webhooks."""
    if len(conditions) > MOST_CONDITIONS:
        text = f"Too many: {len(conditions)}: must have at most {MOST_CONDITIONS} items"
        yield FieldError(path, "FieldValueTooMany", text)
    names: set[str] = set()
    for index, condition in enumerate(conditions):
        at, name = f"{path}[{index}]", condition.get("name", "")
        if not name:
            yield required(f"{at}.name")
        else:
            for problem in qualified_name(name):
                yield invalid(f"{at}.name", name, problem)
            if name in names:
                yield duplicate(f"{at}.name", name)
            names.add(name)
        yield from validate_expression(condition.get("expression", ""), f"{at}.expression", compile)


def validate_expression(text: str, path: str, compile: Compile) -> Iterable[FieldError]:
    if not text.strip():
        yield required(path, f"{path.rpartition('.')[2]} is not specified")
        return
    try:
        compile(text)
    except WrongResultError as error:
        yield invalid(path, text, str(error))
    except CompileError as error:
        yield invalid(path, text, f"compilation failed: {error}")
