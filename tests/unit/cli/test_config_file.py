"""Flags in files and in the environment."""

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from mooring import cli
from mooring.cli.config_file import configurable, read
from mooring.errors import UsageError

SEEN: list[dict[str, object]] = []


def commanded(port: int = 6443, name: list[str] = typer.Option([]), no_node: bool = False) -> None:  # noqa: B008, FBT001, FBT002
    """A command."""
    SEEN.append({"port": port, "name": name, "no_node": no_node})


@pytest.fixture
def app() -> typer.Typer:
    SEEN.clear()
    app = typer.Typer(context_settings={"auto_envvar_prefix": "MOORING"}, add_completion=False)
    app.callback()(lambda: None)
    app.command("up")(configurable(commanded))
    return app


FILES = {
    "yaml": ("flags.yaml", "port: 7\nname: [a, b]\nno-node: true\n"),
    "the flags as they are typed": ("flags.yml", "--port: 7\nname: [a, b]\n--no-node: yes\n"),
    "names with an underscore": ("flags", "port: 7\nname: [a, b]\nno_node: true\n"),
    "toml": ("flags.toml", 'port = 7\nname = ["a", "b"]\nno-node = true\n'),
}


@pytest.mark.parametrize(("name", "text"), FILES.values(), ids=FILES)
def test_a_file_has_flags(app: typer.Typer, tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    ran = CliRunner().invoke(app, ["up", "--config", str(tmp_path / name)])
    assert ran.exit_code == 0, ran.output
    assert SEEN == [{"port": 7, "name": ["a", "b"], "no_node": True}]


ORDER: dict[str, tuple[list[str], dict[str, str], int]] = {
    "the command line first": (["--port", "1"], {"MOORING_UP_PORT": "2"}, 1),
    "then the environment": ([], {"MOORING_UP_PORT": "2"}, 2),
    "then the file": ([], {}, 3),
}


@pytest.mark.parametrize(("flags", "environment", "port"), ORDER.values(), ids=ORDER)
def test_what_comes_first(
    app: typer.Typer, tmp_path: Path, flags: list[str], environment: dict[str, str], port: int
) -> None:
    file = tmp_path / "flags.yaml"
    file.write_text("port: 3")
    given = {"MOORING_UP_CONFIG": str(file), **environment}
    assert CliRunner().invoke(app, ["up", *flags], env=given).exit_code == 0
    assert SEEN[0]["port"] == port


REFUSED = {
    "an unknown flag": ("prot: 7", "there is no flag --prot, did you mean --port"),
    "itself": ("config: other", "there is no flag --config"),
    "no value": ("port:", "--port needs a value"),
    "a section": ("up: {port: 7}", "there is no flag --up"),
    "a section as a value": ("port: {up: 7}", "--port needs a value"),
    "a list": ("- port", "must have flags and their values"),
    "no yaml": ("port: [", "cannot be understood"),
}


@pytest.mark.parametrize(("text", "told"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_config_is_refused_in_one_line(
    app: typer.Typer, tmp_path: Path, text: str, told: str
) -> None:
    file = tmp_path / "flags.yaml"
    file.write_text(text)
    ran = CliRunner().invoke(app, ["up", "--config", str(file)])
    assert isinstance(ran.exception, UsageError)
    assert told in str(ran.exception)
    assert str(file) in str(ran.exception)
    assert "\n" not in str(ran.exception)
    assert SEEN == []


def test_a_value_of_another_type_is_misuse_of_the_flag(app: typer.Typer, tmp_path: Path) -> None:
    (tmp_path / "flags.yaml").write_text("port: seven")
    ran = CliRunner().invoke(app, ["up", "--config", str(tmp_path / "flags.yaml")])
    assert ran.exit_code == 2
    assert "--port" in ran.output


def test_an_empty_file_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "flags.yaml").write_text("# nothing yet\n")
    assert read(tmp_path / "flags.yaml") == {}


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read the config file"):
        read(tmp_path / "missing")


def test_every_flag_has_a_variable_of_its_own_name() -> None:
    group = typer.main.get_command(cli.app)
    assert group.context_settings["auto_envvar_prefix"] == "MOORING"
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        for param in command.params:
            long = [option for option in param.opts if option.startswith("--")]
            if param.param_type_name == "option" and long:
                flag = long[0].removeprefix("--").replace("-", "_")
                if param.envvar:  # a word of Python cannot be a parameter's name
                    assert param.envvar == f"MOORING_{name}_{flag}".upper(), (name, param)
                else:
                    assert param.name == flag, (name, param)
