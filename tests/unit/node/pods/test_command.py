"""What a container runs, and with which variables."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.errors import NotFound
from mooring.model.config_map import ConfigMap
from mooring.model.container import Container, Variable
from mooring.model.keys import Key
from mooring.model.secret import Secret
from mooring.node.pods.command import SLEEP_FOREVER, command_line, variables_of, working_directory
from mooring.node.pods.environment import (
    MOST_PUT_IN,
    MOST_TOGETHER,
    EnvironmentSources,
    api_server_variables,
    environment,
    expand,
)
from mooring.node.pods.waiting_reason import CannotStart, Misconfigured
from mooring.oci.contract import StoredImage
from tests.unit.node.pods.things import MAIN, a_pod, an_image


class NoObjects:
    async def secret(self, key: Key) -> Secret:
        raise NotFound(str(key))

    async def config_map(self, key: Key) -> ConfigMap:
        raise NotFound(str(key))

    def allocatable(self) -> Mapping[str, str]:
        return {}


IMAGE = an_image(entrypoint=("enter",), command=("by", "default"), working_dir="/srv")
BARE = an_image()

LINES = {
    "what the image says": (MAIN, IMAGE, ("enter", "by", "default")),
    "other arguments": (Container("c", args=("x",)), IMAGE, ("enter", "x")),
    "another command, without the image's arguments": (
        Container("c", command=("run",)),
        IMAGE,
        ("run",),
    ),
    "all its own": (Container("c", command=("run",), args=("x",)), IMAGE, ("run", "x")),
    "with values for variables": (
        Container("c", command=("$(WHO)",), args=("$$(WHO)", "$(NOBODY)")),
        IMAGE,
        ("me", "$(WHO)", "$(NOBODY)"),
    ),
    "without an image, its arguments": (Container("c", args=("run", "x")), None, ("run", "x")),
    "without anything, it waits": (MAIN, None, SLEEP_FOREVER),
}


@pytest.mark.parametrize(("container", "image", "line"), LINES.values(), ids=LINES)
def test_command_line(
    container: Container, image: StoredImage | None, line: tuple[str, ...]
) -> None:
    assert command_line(container, image, {"WHO": "me"}) == line


def test_nothing_to_run() -> None:
    with pytest.raises(CannotStart, match="no command specified") as raised:
        command_line(MAIN, BARE, {})
    assert raised.value.reason == "CreateContainerError"


def test_the_pods_variables_win_over_the_images() -> None:
    image = an_image(environment=("A=1", "B=2=2", "C"))
    assert variables_of(image, {"A": "3", "D": "4"}) == ("A=3", "B=2=2", "C=", "D=4")
    assert variables_of(None, {"A": "3"}) == ("A=3",)


def test_where_it_begins() -> None:
    assert working_directory(MAIN, IMAGE) == "/srv"
    assert working_directory(Container("c", working_dir="/home"), IMAGE) == "/home"
    assert working_directory(MAIN, None) == "/"


EXPANDED = {
    "$(A)": "1",
    "$(A)$(B)": "12",
    "$$(A)": "$(A)",
    "$$$(A)": "$1",
    "$(C)": "$(C)",
    "$(A": "$(A",
    "$A $ $": "$A $ $",
    "": "",
}


@pytest.mark.parametrize(("text", "then"), EXPANDED.items(), ids=EXPANDED)
def test_expansion(text: str, then: str) -> None:
    assert expand(text, {"A": "1"}, {"A": "no", "B": "2"}) == then


@given(st.text())
def test_what_has_been_escaped_comes_out_as_it_was(text: str) -> None:
    assert expand(text.replace("$", "$$"), {"A": "1"}) == text


def test_references_add_no_more_than_a_program_can_be_given() -> None:
    assert len(expand("$(A)" * 2, {"A": "x" * (MOST_PUT_IN // 2)})) == MOST_PUT_IN
    with pytest.raises(Misconfigured, match="at most"):
        expand("$(A)" * 3, {"A": "x" * (MOST_PUT_IN // 2)})


async def test_variables_that_multiply_are_refused_before_they_fill_the_memory() -> None:
    rows = (Variable(f"A{n}", f"$(A{n - 1})" * 10) for n in range(1, 40))
    container = Container("c", env=(Variable("A0", "x" * 1000), *rows))
    with pytest.raises(Misconfigured, match="at most"):
        await environment(a_pod(container), container, EnvironmentSources(NoObjects()))


async def test_many_variables_of_one_long_text_are_refused() -> None:
    texts = (Variable(f"A{n}", "$(A)") for n in range(MOST_TOGETHER // 100_000))
    container = Container("c", env=(Variable("A", "x" * 100_000), *texts))
    with pytest.raises(Misconfigured, match="environment is longer"):
        await environment(a_pod(container), container, EnvironmentSources(NoObjects()))


def test_a_command_of_many_long_words_is_refused() -> None:
    container = Container("c", command=("$(A)",) * 100)
    with pytest.raises(CannotStart, match="command is longer"):
        command_line(container, None, {"A": "x" * 100_000})


def test_how_clients_in_pods_find_the_api_server() -> None:
    found = api_server_variables("::1", 6443)
    assert found["KUBERNETES_SERVICE_HOST"] == "::1"
    assert found["KUBERNETES_PORT_6443_TCP"] == "tcp://[::1]:6443"
