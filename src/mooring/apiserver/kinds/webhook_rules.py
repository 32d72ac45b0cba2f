"""Which writes a webhook or policy is about: groups, versions, resources, operations, scope."""

from collections.abc import Iterable, Sequence

from mooring.model.document import Doc
from mooring.model.field_error import FieldError, invalid, not_supported, required

OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
SCOPES = ("*", "Cluster", "Namespaced")


def default_rules(rules: Iterable[Doc]) -> None:
    for rule in rules:
        rule.setdefault("scope", "*")


def validate_rules(rules: Sequence[Doc], path: str) -> Iterable[FieldError]:
    for index, rule in enumerate(rules):
        at = f"{path}[{index}]"
        yield from _validate_operations(rule.get("operations") or [], f"{at}.operations")
        for field, noun in (("apiGroups", "API groups"), ("apiVersions", "API versions")):
            values = rule.get(field) or []
            yield from _validate_list(values, f"{at}.{field}", noun, empty=field == "apiGroups")
        yield from _validate_resources(rule.get("resources") or [], f"{at}.resources")
        scope = rule.get("scope")
        if scope is not None and scope not in SCOPES:
            yield not_supported(f"{at}.scope", scope, SCOPES)


def _validate_operations(operations: Sequence[str], path: str) -> Iterable[FieldError]:
    if not operations:
        yield required(path)
    if "*" in operations and len(operations) > 1:
        yield invalid(path, operations, "if '*' is present, must not specify other operations")
    for index, operation in enumerate(operations):
        if operation not in OPERATIONS:
            yield not_supported(f"{path}[{index}]", operation, OPERATIONS)


def _validate_list(
    values: Sequence[str], path: str, noun: str, *, empty: bool
) -> Iterable[FieldError]:
    if not values:
        yield required(path)
    if "*" in values and len(values) > 1:
        yield invalid(path, values, f"if '*' is present, must not specify other {noun}")
    for index, value in enumerate(values):
        if not value and not empty:
            yield required(f"{path}[{index}]")


def _validate_resources(resources: Sequence[str], path: str) -> Iterable[FieldError]:
    if not resources:
        yield required(path)
    whole = {name[:-2] for name in resources if name.endswith("/*")}  # with all their parts
    for index, name in enumerate(resources):
        resource, slash, part = name.partition("/")
        at = f"{path}[{index}]"
        if not resource or (slash and not part):
            yield required(at)
        elif slash and part != "*" and resource in whole:
            text = f"if '{resource}/*' is present, must not specify {name}"
            yield invalid(at, name, text)
        elif slash and part != "*" and f"*/{part}" in resources and resource != "*":
            yield invalid(at, name, f"if '*/{part}' is present, must not specify {name}")
    if "*/*" in resources and len(resources) > 1:
        yield invalid(path, resources, "if '*/*' is present, must not specify other resources")
    elif "*" in resources and any("/" not in name and name != "*" for name in resources):
        yield invalid(
            path,
            resources,
            "if '*' is present, must not specify other resources without subresources",
        )
