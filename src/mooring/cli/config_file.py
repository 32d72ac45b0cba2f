"""`--config FILE`, which every command has: flags of the command, by their names, in a file."""

import functools
import inspect
import tomllib
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import typer

from mooring.errors import UsageError

FLAG = "config"


def _load(ctx: typer.Context, file: Path | None) -> Path | None:
    """Before any other flag is looked at: what the file says is as good as a default."""
    if file is not None and not ctx.resilient_parsing:
        names = {
            option.removeprefix("--"): param.name or ""
            for param in ctx.command.params
            for option in param.opts
            if option.startswith("--")
        }
        names.pop(FLAG, None)
        ctx.default_map = {**(ctx.default_map or {}), **named(read(file), names, file)}
    return file


ConfigFile = Annotated[
    Path | None,
    typer.Option(
        f"--{FLAG}",
        help="Read flags from this file: YAML, or TOML if it is called so. Keys are the flags' "
        "names; the command line and the environment come first.",
        is_eager=True,
        callback=_load,
    ),
]


def configurable(command: Callable[..., None]) -> Callable[..., None]:
    """The same command, with `--config`."""

    @functools.wraps(command)
    def run(**flags: Any) -> None:
        flags.pop(FLAG, None)
        command(**flags)

    signature = inspect.signature(command)
    added = inspect.Parameter(
        FLAG, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=ConfigFile
    )
    run.__annotations__ = {**command.__annotations__, FLAG: ConfigFile}
    run.__signature__ = signature.replace(  # type: ignore[attr-defined]  # which inspect looks for
        parameters=[*signature.parameters.values(), added]
    )
    return run


def read(file: Path) -> Mapping[str, Any]:
    """Raises: UsageError."""
    import yaml

    try:
        text = file.read_text()
        found = tomllib.loads(text) if file.suffix == ".toml" else yaml.safe_load(text)
    except OSError as error:
        raise UsageError(f"cannot read the config file {file}: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, yaml.YAMLError) as error:
        why = " ".join(str(error).split())
        raise UsageError(f"the config file {file} cannot be understood: {why}") from error
    if found is None:
        return {}
    if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
        raise UsageError(
            f"the config file {file} must have flags and their values, as `port: 7443`"
        )
    return found


def named(found: Mapping[str, Any], names: Mapping[str, str], file: Path) -> dict[str, Any]:
    """By the parameters' names in Python; `names` has them by flag. Raises: UsageError."""
    chosen = {}
    for key, value in found.items():
        flag = key.removeprefix("--").replace("_", "-")
        if flag not in names:
            raise UsageError(
                f"the config file {file}: there is no flag --{flag}{_near(flag, names)}"
            )
        if isinstance(value, dict) or value is None:
            raise UsageError(f"the config file {file}: --{flag} needs a value, or a list of them")
        chosen[names[flag]] = value
    return chosen


def _near(flag: str, names: Iterable[str]) -> str:
    return "".join(f", did you mean --{near}?" for near in get_close_matches(flag, names, n=1))
