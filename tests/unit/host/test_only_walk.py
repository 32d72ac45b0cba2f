"""Nothing in Mooring goes through directory trees but `host/tree.py`, which never leaves a mount.

Read from the source itself: who adds a walk elsewhere learns here why there is just one.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import mooring

SOURCE = Path(mooring.__file__).parent
WALKS = {
    ("os", "walk"),
    ("os", "fwalk"),
    ("shutil", "rmtree"),
    ("shutil", "copytree"),
    ("shutil", "move"),
    ("glob", "glob"),
    ("glob", "iglob"),
}
METHODS = {"rglob", "walk"}  # of a path
LISTS = {"listdir", "scandir", "iterdir"}

ALLOWED = {
    # The walk itself, over levels that `same_mount` has let it enter.
    "host/tree.py",
    # Control groups: the kernel's own directories, in which a pod can neither mount nor link.
    "oci/cgroups.py",
    # What devices there are: names and numbers, in a directory that is root's alone.
    "oci/devices.py",
    # Which sockets drivers have made: only looked at, in a directory of the node's own.
    "node/registration/sockets.py",
    # Layers are read in a fixed order; each directory is entered by `same_mount.enter`.
    "oci/directory.py",
    # Copies what everybody may read of the host's own /etc, as nobody, few levels deep.
    "oci/public_files.py",
}


def walks_in(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and name of every call that goes through a tree, or function that lists and recurses."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            on = node.func.value
            name = (on.id if isinstance(on, ast.Name) else "", node.func.attr)
            is_module = name[0] in {"ast", "tree", "walk"}  # syntax, and the one walk
            if name in WALKS or (name[1] in METHODS and not is_module):
                yield node.lineno, ".".join(name)
            elif name[1] == "glob" and any(_has_stars(word) for word in node.args):
                yield node.lineno, "glob(**)"
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            called = {_name(call) for call in ast.walk(node) if isinstance(call, ast.Call)}
            if node.name in called and called & LISTS:
                yield node.lineno, f"{node.name} lists, and calls itself"
        elif isinstance(node, ast.While):
            called = {_name(call) for call in ast.walk(node) if isinstance(call, ast.Call)}
            if called & LISTS and called & {"append", "extend"}:
                yield node.lineno, "a loop that lists what it has found"


def _name(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _has_stars(word: ast.expr) -> bool:
    return isinstance(word, ast.Constant) and "**" in str(word.value)


def test_one_module_walks() -> None:
    found = {
        f"{path.relative_to(SOURCE)}:{line}: {what}"
        for path in sorted(SOURCE.rglob("*.py"))
        if str(path.relative_to(SOURCE)) not in ALLOWED
        for line, what in walks_in(ast.parse(path.read_text()))
    }
    assert found == set(), "use host/tree.py: it does not leave the mount where it begins"


def test_what_is_allowed_exists() -> None:
    assert [name for name in ALLOWED if not (SOURCE / name).is_file()] == []


CAUGHT = {
    "shutil.rmtree": "import shutil\nshutil.rmtree(path)",
    "os.walk": "import os\nfor _ in os.walk(path): pass",
    "Path.rglob": "path.rglob('*')",
    "a glob of any depth": "path.glob('**/*.py')",
    "a list of what is to be read": "while a:\n    a.append(os.listdir(a.pop()))",
    "a function that calls itself": "def f(p):\n    for q in p.iterdir():\n        f(q)",
}


@pytest.mark.parametrize("text", CAUGHT.values(), ids=CAUGHT)
def test_a_walk_is_noticed(text: str) -> None:
    assert list(walks_in(ast.parse(text)))


PASSED = {
    "one level": "import os\nos.listdir(path)",
    "a glob of one level": "path.glob('*.json')",
    "the one walk": "tree.walk(root)",
}


@pytest.mark.parametrize("text", PASSED.values(), ids=PASSED)
def test_what_is_no_walk_passes(text: str) -> None:
    assert not list(walks_in(ast.parse(text)))
