"""Every command and flag, from the signatures of which typer makes the command line."""

import inspect
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec
import typer
from typer.models import ArgumentInfo, OptionInfo

from mooring.cli import app

_HEAD = """# Commands and flags

Written by `make docs-generated` from the definitions of the command line; a test keeps it true.

Flags can be set in the environment (`MOORING_UP_PORT=7443` is `mooring up --port 7443`) and, where
a command has `--config`, in a file, YAML or TOML, with the flags' names as keys. The command line
comes first, then the environment. Ctrl-C or SIGTERM stops a command; a restart finds all state.
`mooring --install-completion` completes commands and flags in your shell. Log lines are on standard
error; a repeated warning is printed once a minute, with a count.

| command | what it does |
|---|---|
"""
_TYPES = {str: "TEXT", int: "N", float: "X", Path: "PATH"}

Command = Callable[..., Any]


class Flag(msgspec.Struct, frozen=True):
    """An option or an argument, as a row shows it."""

    usage: str
    default: str
    help: str
    is_argument: bool

    @property
    def cell(self) -> str:
        return self.usage.replace("|", "\\|")


def text() -> str:
    found = list(_commands(app, "mooring"))
    rows = "".join(_row(name, command) for name, command in found)
    return _HEAD + rows + "".join(_section(name, command) for name, command in found)


def _row(name: str, command: Command) -> str:
    first = _about(command).partition("\n\n")[0]
    return f"| [`{name}`](#{name.replace(' ', '-')}) | {_cell(first)} |\n"


def _commands(of: typer.Typer, name: str) -> Iterator[tuple[str, Command]]:
    for info in of.registered_commands:
        assert info.callback is not None, info
        yield f"{name} {info.name or info.callback.__name__.replace('_', '-')}", info.callback
    for group in of.registered_groups:
        assert group.typer_instance is not None, group
        yield from _commands(group.typer_instance, f"{name} {group.name}")


def _section(name: str, command: Command) -> str:
    flags = list(_flags(command))
    words = [name, *(flag.usage for flag in flags if flag.is_argument)]
    usage = " ".join(words if all(flag.is_argument for flag in flags) else [*words, "[flags]"])
    about = _about(command).replace("<", "&lt;")
    lines = [f"\n## {name}\n", f"```text\n{usage}\n```\n", f"{about}\n"]
    if flags:
        lines.append("| flag | default | what it does |\n|---|---|---|")
        lines += [
            f"| `{flag.cell}` | {_cell(flag.default)} | {_cell(flag.help)} |" for flag in flags
        ]
        lines.append("")
    return "\n".join(lines)


def _about(command: Command) -> str:
    return inspect.cleandoc(command.__doc__ or "")


def _flags(command: Command) -> Iterator[Flag]:
    hints = {name: hint for name, hint in command.__annotations__.items() if name != "return"}
    for name, parameter in inspect.signature(command).parameters.items():
        hint = hints[name]
        if get_origin(hint) is not Annotated:
            continue  # the context
        kind, *notes = get_args(hint)
        info = next(note for note in notes if isinstance(note, (OptionInfo, ArgumentInfo)))
        if not info.hidden:
            yield _flag(name, kind, info, parameter.default)


def _flag(name: str, kind: Any, info: OptionInfo | ArgumentInfo, default: Any) -> Flag:
    is_needed = default is inspect.Parameter.empty and info.default_factory is None
    plain, is_list = _plain(kind)
    if isinstance(info, ArgumentInfo):
        word = f"{info.metavar or name.upper()}{'...' if is_list else ''}"
        usage = word if is_needed else f"[{word}]"
    else:
        # The first word of `typer.Option("--name", ...)` is kept as if it were a default.
        words = (info.default, *(info.param_decls or ()))
        declared = [word for word in words if isinstance(word, str) and word.startswith("-")]
        own = f"--{name.replace('_', '-')}"
        if plain is bool:
            usage = ", ".join(declared or [f"{own}/--no-{own[2:]}"])
        else:
            usage = f"{', '.join(declared or [own])} {_word(plain)}"
    shown = "required" if is_needed else _default(info, default)
    return Flag(usage, shown, info.help or "", isinstance(info, ArgumentInfo))


def _plain(kind: Any) -> tuple[Any, bool]:
    """Without None, and what a list is of."""
    if get_origin(kind) in (Union, UnionType):
        kind = next(one for one in get_args(kind) if one is not NoneType)
    if get_origin(kind) is list:
        return get_args(kind)[0], True
    return kind, False


def _word(kind: Any) -> str:
    if issubclass(kind, Enum):
        return "|".join(str(one.value) for one in kind)
    return str(_TYPES.get(kind, kind.__name__.upper()))


def _default(info: OptionInfo | ArgumentInfo, default: Any) -> str:
    if isinstance(info.show_default, str):
        return info.show_default
    if default is inspect.Parameter.empty or default in (None, "", (), []):
        return ""
    if isinstance(default, bool):
        return "on" if default else "off"
    return f"`{default.value if isinstance(default, Enum) else default}`"


def _cell(said: str) -> str:
    return " ".join(said.split()).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
