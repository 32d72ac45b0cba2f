"""`mooring csi`: tools for CSI drivers: run one, call one, see the calls."""

import typer

from mooring.cli import csi_call, csi_run, csi_trace
from mooring.cli.config_file import configurable

app = typer.Typer(
    help="CSI drivers: run one, call it by hand, see every call.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("trace")(configurable(csi_trace.trace))
app.command("call")(configurable(csi_call.call))
app.command("run", context_settings=csi_run.CONTEXT)(csi_run.run)
