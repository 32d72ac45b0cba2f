"""`mooring snapshot`: which blocks of a snapshot have changed, or hold data."""

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from mooring.cli.config_file import configurable
from mooring.cli.flags import Kubeconfig
from mooring.errors import UsageError

if TYPE_CHECKING:
    from mooring.stack.changed_blocks import Found, Wish

app = typer.Typer(
    help="Blocks of snapshots, for backups: those that hold data, those that have changed.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


class Output(StrEnum):
    TABLE = "table"
    JSON = "json"


SnapshotName = Annotated[
    str, typer.Argument(metavar="SNAPSHOT", help="A VolumeSnapshot.", show_default=False)
]
Namespace = Annotated[str, typer.Option("--namespace", "-n", help="Of the snapshots.")]
Base = Annotated[
    str,
    typer.Option(help="An older VolumeSnapshot of the same volume.", show_default=False),
]
Account = Annotated[
    str,
    typer.Option(
        help="NAME or NAMESPACE/NAME: a ServiceAccount that may get volumesnapshots there; a "
        "token of it is sent to the driver's service."
    ),
]
Shown = Annotated[Output, typer.Option("--output", "-o", help="How they are printed.")]


def changed_blocks(
    snapshot: SnapshotName,
    base: Base = "",
    namespace: Namespace = "default",
    service_account: Account = "default",
    output: Shown = Output.TABLE,
    kubeconfig: Kubeconfig = None,
) -> None:
    """List the ranges of a snapshot that may differ from an older one.

    Asks the SnapshotMetadataService of the snapshots' CSI driver; `mooring up` serves that of the
    bundled driver. What is listed may be more than what was written, never less.

    Example: mooring snapshot changed-blocks --base monday tuesday -o json
    """
    if not base:
        raise UsageError(
            "changed since when? Give --base SNAPSHOT, an older one of the same volume; "
            "`mooring snapshot allocated-blocks` lists all that hold data"
        )
    _list(namespace, snapshot, base, service_account, output, kubeconfig)


def allocated_blocks(
    snapshot: SnapshotName,
    namespace: Namespace = "default",
    service_account: Account = "default",
    output: Shown = Output.TABLE,
    kubeconfig: Kubeconfig = None,
) -> None:
    """List the ranges of a snapshot that hold data: a first, full backup copies these.

    Example: mooring snapshot allocated-blocks monday
    """
    _list(namespace, snapshot, "", service_account, output, kubeconfig)


def _list(
    namespace: str, snapshot: str, base: str, account: str, output: Output, kubeconfig: Kubeconfig
) -> None:
    from mooring.model.keys import Key
    from mooring.stack.changed_blocks import Wish, run_changed_blocks

    before, _, name = account.rpartition("/")
    if not name:
        raise UsageError(f"{account!r} names no service account: give NAME or NAMESPACE/NAME")
    wish = Wish(namespace, snapshot, base, Key(before, name))
    printer = _Json(wish) if output is Output.JSON else _Table(wish)
    run_changed_blocks(kubeconfig, wish, printer.take)
    printer.end()


class _Table:
    """Rows are printed as they come; nothing before the first answer, which may be a refusal."""

    def __init__(self, wish: "Wish") -> None:
        self._wish = wish
        self._ranges = self._bytes = self._volume = 0
        self._has_head = False

    def take(self, found: "Found") -> None:
        self._begin()
        self._volume = found.volume_bytes
        for each in found.ranges:
            self._ranges += 1
            self._bytes += each.size_bytes
            typer.echo(f"{each.byte_offset:>16}  {each.size_bytes:>14}")

    def end(self) -> None:
        self._begin()
        what = f"changed since {self._wish.base}" if self._wish.base else "with data"
        of = f" of {self._volume}" if self._volume else ""
        typer.echo(f"{self._bytes}{of} bytes {what}, in {self._ranges} ranges")

    def _begin(self) -> None:
        if not self._has_head:
            typer.echo(f"{'OFFSET':>16}  {'SIZE':>14}")
            self._has_head = True


class _Json:
    """One document, printed piece by piece: a volume may have millions of ranges."""

    def __init__(self, wish: "Wish") -> None:
        import json

        self._dump = json.dumps
        self._count = self._bytes = self._volume = 0
        self._head = {"namespace": wish.namespace, "snapshot": wish.snapshot}
        if wish.base:
            self._head["base"] = wish.base

    def take(self, found: "Found") -> None:
        self._begin()
        self._volume = found.volume_bytes
        for each in found.ranges:
            row = self._dump({"offset": each.byte_offset, "size": each.size_bytes})
            typer.echo(f"{',' if self._count else ''}\n{row}", nl=False)
            self._count += 1
            self._bytes += each.size_bytes

    def end(self) -> None:
        self._begin()
        total = {"totalBytes": self._bytes, "volumeBytes": self._volume}
        typer.echo(f"], {self._dump(total)[1:]}")

    def _begin(self) -> None:
        if self._head:
            typer.echo(f'{self._dump(self._head)[:-1]}, "ranges": [', nl=False)
            self._head = {}


_commands: dict[str, Callable[..., None]] = {
    "changed-blocks": changed_blocks,
    "allocated-blocks": allocated_blocks,
}
for _name, _command in _commands.items():
    app.command(_name)(configurable(_command))
