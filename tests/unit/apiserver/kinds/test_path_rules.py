import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.apiserver.kinds.path_rules import (
    validate_descending,
    validate_file_path,
    validate_no_backsteps,
)

UP, ROOT, KEPT = "must not contain '..'", "must be a relative path", "must not start with '..'"
PATHS: dict[str, tuple[str, list[str], list[str], list[str]]] = {
    "below": ("a/b", [], [], []),
    "nowhere": ("", [], [], []),
    "at the root": ("/a", [], [ROOT], [ROOT]),
    "up": ("../a", [UP], [UP], [UP]),
    "up, later": ("a/..", [UP], [UP], [UP]),
    "up, from the root": ("/..", [UP], [ROOT, UP], [ROOT, UP]),
    "just up": ("..", [UP], [UP], [UP, KEPT]),
    "dots in a name": ("a..b/c..", [], [], []),
    "a name that begins with two dots": ("..a", [], [], [KEPT]),
    "such a name further down": ("a/..b", [], [], []),
    "three dots": (".../a", [], [], [KEPT]),
}


@pytest.mark.parametrize(("path", "steps", "descending", "file"), PATHS.values(), ids=PATHS)
def test_paths(path: str, steps: list[str], descending: list[str], file: list[str]) -> None:
    def told(problems: list[str]) -> list[str]:
        return [f'f: Invalid value: "{path}": {problem}' for problem in problems]

    assert [str(e) for e in validate_no_backsteps(path, "f")] == told(steps)
    assert [str(e) for e in validate_descending(path, "f")] == told(descending)
    assert [str(e) for e in validate_file_path(path, "f")] == told(file)


@given(st.lists(st.sampled_from(["a", ".", "..", "..x", "", "b.."]), max_size=6).map("/".join))
def test_a_path_without_complaints_stays_below(path: str) -> None:
    if not list(validate_descending(path, "f")):
        assert posixpath.normpath(posixpath.join("/base", path)).startswith("/base")
