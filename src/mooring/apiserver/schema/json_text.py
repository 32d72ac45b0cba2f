"""JSON texts: strict JSON, any depth survived, duplicate keys noticed.

Errors are ValueErrors in the words of the Go decoder that clients know.
"""

import json
import re
from typing import NoReturn

import msgspec

from mooring.apiserver.limits.budgets import MOST_VALUES
from mooring.apiserver.limits.json_size import check_values
from mooring.apiserver.schema.pairs import Pairs, Read

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
_position = re.compile(r"JSON is malformed: (.*) \(byte (\d+)\)").fullmatch

_GO_WORDS = {
    "trailing characters": "after top-level value",
    "object keys must be strings": "looking for beginning of object key string",
    "trailing comma in object": "looking for beginning of object key string",
    "expected ':'": "after object key",
    "expected ',' or '}'": "after object key:value pair",
    "expected ',' or ']'": "after array element",
    "invalid number": "in numeric literal",
    "invalid escape character in string": "in string escape code",
}


def read_json(body: bytes, most: int = MOST_VALUES) -> Read:
    """Decode `body`. Integers stay integers, of any size; NaN and Infinity are no JSON.

    Raises: ValueError; TooLarge when there are more values in it than a document may hold.
    """
    check_values(body, most)
    try:
        value = _decode(body)
        if _keeps_all(body, _encode(value)):
            return Read(value)
        return Read(value, json.loads(body, object_pairs_hook=Pairs))
    except RecursionError:
        raise ValueError("exceeded max depth") from None
    except UnicodeDecodeError as error:
        raise ValueError("invalid UTF-8 in string") from error
    except msgspec.ValidationError as error:
        raise ValueError("json: cannot unmarshal number into Go value of type float64") from error
    except msgspec.DecodeError as error:
        _refuse(error, body)


def _keeps_all(body: bytes, encoded: bytes) -> bool:
    """Whether what was decoded still has every key; `schema.reader` explains the colons."""
    if body.count(b":") != encoded.count(b":"):
        return False
    return b"\\" not in body or (b"\\u003a" not in body and b"\\u003A" not in body)


def _refuse(error: msgspec.DecodeError, body: bytes) -> NoReturn:
    found = _position(str(error))
    if found is None:
        raise ValueError("unexpected end of JSON input") from error
    what, place = found[1], int(found[2])
    if what == "trailing characters":
        place -= 1  # this one is counted from behind the character
    if place >= len(body):
        raise ValueError("unexpected end of JSON input") from error
    where = _GO_WORDS.get(what, "looking for beginning of value")
    if body[place] < 32 and _is_in_string(body, place):
        where = "in string literal"
    raise ValueError(f"invalid character {_character(body[place])} {where}") from error


def _is_in_string(body: bytes, place: int) -> bool:
    quotes = body.count(b'"', 0, place) - body.count(rb"\"", 0, place)
    return quotes % 2 == 1


def _character(byte: int) -> str:
    if byte == ord("'"):
        return r"'\''"
    return f"'{chr(byte)}'" if 32 <= byte < 127 else f"'\\x{byte:02x}'"
