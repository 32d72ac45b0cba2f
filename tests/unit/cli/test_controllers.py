"""`mooring controllers`: what its flags say of themselves."""

from pathlib import Path
from typing import get_args

import pytest

from mooring.cli.controllers import Chosen, controllers
from mooring.controllers.role import NAMED

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize("name", sorted(NAMED))
def test_what_has_to_be_named_is_named(name: str) -> None:
    """In the flag, in the help of the command, and where everyday life tells how to run them."""
    _, flag = get_args(Chosen)
    assert name in flag.help
    assert name in (controllers.__doc__ or "")
    assert f",{name}" in (DOCS / "everyday.md").read_text()
