"""`mooring csi trace`: the calls to CSI drivers, in flight and done."""

import sys
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from mooring.cli.flags import Kubeconfig

if TYPE_CHECKING:
    from mooring.csi.call_record import CsiCall, CsiCallEvent, Process

HEAD = ("STARTED", "DRIVER", "METHOD", "VOLUME", "TIME", "CODE", "ASKED BY", "BECAUSE OF", "HOST")
IN_FLIGHT = "in flight"
_WIDTHS = (12, 26, 26, 40, 9, 12, 12, 40)  # of rows that are printed as they come


class Output(StrEnum):
    TABLE = "table"
    JSON = "json"


Since = Annotated[
    str,
    typer.Option(help="Only calls since 10m ago, or a time in RFC 3339.", show_default=False),
]
Slow = Annotated[
    str, typer.Option(help="Only calls that take at least so long: 250ms, 2s.", show_default=False)
]
DriverName = Annotated[str, typer.Option(help="Only of this driver.", show_default=False)]
MethodName = Annotated[
    str, typer.Option(help="Only of this method: NodePublishVolume.", show_default=False)
]
VolumeId = Annotated[
    str, typer.Option(help="Only of this volume or snapshot handle.", show_default=False)
]
Follow = Annotated[bool, typer.Option("--follow", "-f", help="Print calls as they come.")]
Shown = Annotated[Output, typer.Option("--output", "-o", help="How they are printed.")]
Address = Annotated[
    str,
    typer.Option(
        help="Ask one role at its --metrics-address, http://127.0.0.1:PORT, not the cluster.",
        show_default=False,
    ),
]


def trace(  # noqa: PLR0913, PLR0917  one argument per flag
    since: Since = "",
    slow: Slow = "",
    driver: DriverName = "",
    method: MethodName = "",
    volume: VolumeId = "",
    follow: Follow = False,  # noqa: FBT002  a flag of the command line
    output: Shown = Output.TABLE,
    address: Address = "",
    kubeconfig: Kubeconfig = None,
) -> None:
    """Show the calls to CSI drivers: those in flight, and the last that ended.

    Asks the API server of `mooring up` and, through it, every node. Needs the right to get the
    path /mooring/v1/csi-calls, and nodes/proxy for nodes on other machines.

    Example: mooring csi trace --slow 1s --follow
    """
    from mooring.clock import RealClock
    from mooring.csi.call_query import read_question
    from mooring.stack.csi_trace import Wanted, run_follow, run_trace

    asked = {"since": since, "slow": slow, "driver": driver, "method": method, "volume": volume}
    query = {name: value for name, value in asked.items() if value}
    read_question(query, RealClock().now())  # refused here, not by each node
    wanted = Wanted(kubeconfig, address, query)
    if follow:
        printer = _JsonLines() if output is Output.JSON else _Rows()
        run_follow(wanted, _tell_unseen, printer.take)
        return
    found = run_trace(wanted)
    for line in found.unseen:
        _tell_unseen(line)
    calls = found.calls()
    if output is Output.JSON:
        typer.echo(_document(calls))
        return
    if not calls:
        typer.echo("no calls: none was made, or none that is asked for", err=True)
        return
    _print_table([HEAD, *(row_of(process, call) for process, call in calls)])


def row_of(process: "Process", call: "CsiCall") -> tuple[str, ...]:
    because = call.because
    ref = "-"
    if because is not None:
        name = f"{because.namespace}/{because.name}" if because.namespace else because.name
        ref = f"{because.kind.lower()}/{name}"
    cells = (
        call.started.strftime("%H:%M:%S.%f")[:-3],
        call.driver or "-",
        call.method,
        call.volume or "-",
        seconds_text(call.seconds),
        IN_FLIGHT if call.in_flight else call.code,
        call.asked_by or "-",
        ref,
        process.host,
    )
    return tuple(printable(cell) for cell in cells)


def seconds_text(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.1f}ms"
    return f"{seconds:.2f}s" if seconds < 100 else f"{seconds:.0f}s"


def printable(text: str) -> str:
    """A driver's name or handle moves no cursor."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def _document(calls: Iterable[tuple["Process", "CsiCall"]]) -> str:
    import msgspec

    items = [
        {**msgspec.to_builtins(call), "process": msgspec.to_builtins(process)}
        for process, call in calls
    ]
    return msgspec.json.format(msgspec.json.encode({"calls": items}), indent=2).decode()


def _print_table(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for cells in rows:
        padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        typer.echo("  ".join(padded).rstrip())


def _tell_unseen(line: str) -> None:
    typer.echo(f"mooring: {printable(line)}", err=True)


class _Rows:
    """A row when a call begins that does not end at once, and one when it has ended."""

    def __init__(self) -> None:
        self._has_head = False

    def take(self, event: "CsiCallEvent") -> None:
        if not self._has_head:
            self._print(HEAD)
            self._has_head = True
        if event.call is None:
            typer.echo(f"... {event.lost} calls came too fast to be shown", err=True)
        else:
            self._print(row_of(event.process, event.call))

    def _print(self, cells: Sequence[str]) -> None:
        padded = [cell.ljust(width) for cell, width in zip(cells, _WIDTHS, strict=False)]
        typer.echo("  ".join((*padded, *cells[len(_WIDTHS) :])).rstrip())
        sys.stdout.flush()


class _JsonLines:
    """An event on each line, as the endpoint sends them."""

    def take(self, event: "CsiCallEvent") -> None:
        import msgspec

        typer.echo(msgspec.json.encode(event).decode())
        sys.stdout.flush()
