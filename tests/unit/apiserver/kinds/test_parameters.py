import pytest

from mooring.apiserver.kinds.parameters import validate_parameters, validate_size

PARAMETERS: dict[str, tuple[dict[str, str], list[str]]] = {
    "none are fine": ({}, []),
    "any key is fine": ({"not a key": ""}, []),
    "512 are fine": ({str(n): "" for n in range(512)}, []),
    "513 are too many": (
        {str(n): "" for n in range(513)},
        ["parameters: Too long: may not be more than 512 bytes"],
    ),
    "a key is not empty": (
        {"": "a"},
        ['parameters: Invalid value: "": field can not be empty.'],
    ),
    "256 KiB are fine": ({"key": "v" * (256 * 1024 - 3)}, []),
    "one byte more is too much": (
        {"key": "v" * (256 * 1024 - 2)},
        ["parameters: Too long: may not be more than 262144 bytes"],
    ),
}


@pytest.mark.parametrize(("parameters", "complaints"), PARAMETERS.values(), ids=PARAMETERS)
def test_parameters(parameters: dict[str, str], complaints: list[str]) -> None:
    assert [str(e) for e in validate_parameters(parameters, "parameters")] == complaints


def test_size_is_counted_in_bytes() -> None:
    assert list(validate_size({"k": "é" * (128 * 1024)}, "f"))
    assert not list(validate_size({"k": "e" * (128 * 1024)}, "f"))
