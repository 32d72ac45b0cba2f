import pytest

from mooring.apiserver.kinds.access_modes import abbreviate, validate_access_modes

KNOWN = '"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"'
ALONE = "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes"

MODES: dict[str, tuple[list[str], list[str]]] = {
    "one mode is fine": (["ReadWriteOnce"], []),
    "three shared modes stand together": (
        ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"],
        [],
    ),
    "a mode may be repeated": (["ReadWriteOnce", "ReadWriteOnce"], []),
    "one pod's own mode is fine alone": (["ReadWriteOncePod"], []),
    "one pod's own mode may be repeated": (["ReadWriteOncePod", "ReadWriteOncePod"], []),
    "one pod's own mode excludes the others": (["ReadWriteOncePod", "ReadWriteOnce"], [ALONE]),
    "an unknown mode is named": (
        ["RWO"],
        [f'spec.accessModes: Unsupported value: "RWO": supported values: {KNOWN}'],
    ),
    "an unknown mode does not count as another one": (
        ["ReadWriteOncePod", "RWO"],
        [f'spec.accessModes: Unsupported value: "RWO": supported values: {KNOWN}'],
    ),
}


@pytest.mark.parametrize(("modes", "complaints"), MODES.values(), ids=MODES)
def test_modes(modes: list[str], complaints: list[str]) -> None:
    assert [str(e) for e in validate_access_modes(modes, "spec")] == complaints


SHORT: dict[str, tuple[list[str], str]] = {
    "none prints as nothing": ([], ""),
    "the order is fixed": (
        ["ReadWriteOncePod", "ReadWriteMany", "ReadOnlyMany", "ReadWriteOnce"],
        "RWO,ROX,RWX,RWOP",
    ),
    "each is printed once": (["ReadWriteOnce", "ReadWriteOnce"], "RWO"),
}


@pytest.mark.parametrize(("modes", "short"), SHORT.values(), ids=SHORT)
def test_abbreviations(modes: list[str], short: str) -> None:
    assert abbreviate(modes) == short
