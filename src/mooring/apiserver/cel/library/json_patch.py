"""Paths of JSON patches: `'/metadata/labels/' + jsonpatch.escapeKey('example.com/a')`."""

from mooring.apiserver.cel import call_cost
from mooring.apiserver.cel.functions import Functions, Overload
from mooring.apiserver.cel.types import STRING


def _escape_key(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


FUNCTIONS: Functions = {
    "jsonpatch.escapeKey": (
        Overload(
            "string_jsonpatch_escapeKey_string",
            (STRING,),
            STRING,
            _escape_key,
            cost=call_cost.of_first,
        ),
    ),
}
