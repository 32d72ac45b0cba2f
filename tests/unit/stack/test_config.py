"""What a command is told, and what it takes when it is told nothing."""

import socket

import pytest

from mooring.errors import UsageError
from mooring.stack.config import get_node_name


def test_a_node_has_the_name_it_is_given() -> None:
    assert get_node_name("worker-1") == "worker-1"


def test_without_one_it_is_the_host_name_in_small_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "Laptop.Example.COM")
    assert get_node_name("") == "laptop.example.com"


def test_it_keeps_the_name_it_had_unless_it_is_given_another() -> None:
    assert get_node_name("", "worker-1") == "worker-1"
    assert get_node_name("worker-2", "worker-1") == "worker-2"


@pytest.mark.parametrize("name", ["my_node", "Upper", "-dash", "a" * 64, "a b"])
def test_a_name_that_a_node_cannot_have_is_refused_in_one_line(name: str) -> None:
    with pytest.raises(UsageError, match="--node-name") as refused:
        get_node_name(name)
    assert "\n" not in str(refused.value)
