"""What Kubernetes 1.35 lets expressions use: the functions of all libraries, and their types."""

from collections.abc import Mapping

from mooring.apiserver.cel.checker import TYPE_NAMES, Checked, Environment, check
from mooring.apiserver.cel.compiler import Program, compile_checked
from mooring.apiserver.cel.functions import merge
from mooring.apiserver.cel.library import (
    authorizer,
    cidr,
    format,
    ip,
    json_patch,
    lists,
    optionals,
    quantity,
    regex,
    semver,
    sets,
    standard,
    strings,
    time,
    url,
)
from mooring.apiserver.cel.parser import parse
from mooring.apiserver.cel.structs import patch_structs
from mooring.apiserver.cel.types import CelType, Records

FUNCTIONS = merge(
    (
        authorizer.FUNCTIONS,
        standard.OPERATORS,
        standard.CONVERSIONS,
        standard.TEXT,
        time.FUNCTIONS,
        optionals.FUNCTIONS,
        strings.FUNCTIONS,
        lists.FUNCTIONS,
        regex.FUNCTIONS,
        url.FUNCTIONS,
        sets.FUNCTIONS,
        quantity.FUNCTIONS,
        ip.FUNCTIONS,
        cidr.FUNCTIONS,
        format.FUNCTIONS,
        semver.FUNCTIONS,
    )
)
TYPES: Mapping[str, CelType] = {
    **TYPE_NAMES,
    **{
        one.name: one
        for one in (url.URL, quantity.QUANTITY, ip.IP, cidr.CIDR, semver.SEMVER, format.FORMAT)
    },
}


_FUNCTIONS_OF_PATCHES = merge((FUNCTIONS, json_patch.FUNCTIONS))


def environment(
    variables: Mapping[str, CelType], records: Records, *, makes_patches: bool = False
) -> Environment:
    if makes_patches:
        return Environment(_FUNCTIONS_OF_PATCHES, variables, records, TYPES, patch_structs)
    return Environment(FUNCTIONS, variables, records, TYPES)


def compile_text(text: str, environment: Environment) -> tuple[Checked, Program]:
    """Parsed, checked and compiled; CompileError says what is wrong."""
    checked = check(text, parse(text), environment)
    return checked, compile_checked(checked, environment.types)
