"""`mooring why`: what an object waits for, and what helps."""

import typer

CONTEXT = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "help_option_names": [],
}
"""All arguments are for `mooring.why.command`, `--help` too."""


def why(context: typer.Context) -> None:
    """Explain why a claim, volume, pod, node, class, driver, workload or namespace waits.

    Example: mooring why pvc/data -n shop
    """
    from mooring.why.command import main

    raise typer.Exit(main(context.args, f"mooring {context.info_name}"))
