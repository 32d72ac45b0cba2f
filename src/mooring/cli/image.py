"""`mooring image`: the images that this machine's pods run from."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mooring.cli.flags import ImageConfig, images_of

if TYPE_CHECKING:
    from mooring.oci.store import ImageStore

app = typer.Typer(
    help="Images of this machine: pull, import, list and remove them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

DataDir = Annotated[
    Path | None,
    typer.Option(
        help="The --data-dir of `mooring up`.",
        show_default="/var/lib/mooring for root, else ~/.local/share/mooring",
    ),
]
RootDir = Annotated[
    Path | None,
    typer.Option(
        help="The --root-dir of `mooring node`.",
        show_default="where `node` in the data directory leads",
    ),
]
Name = Annotated[
    str, typer.Argument(help="Its name in pods: busybox, quay.io/team/tool:v2.", show_default=False)
]


@app.command("import")
def import_image(
    name: Name,
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FILE|DIR",
            help="An OCI layout or `docker save` archive (directory, tar, compressed or not), "
            "or the files themselves: a root directory, or a tar of one.",
            show_default=False,
        ),
    ],
    data_dir: DataDir = None,
    root_dir: RootDir = None,
) -> None:
    """Import an image under a name. A running node has it at once. Needs root.

    Example: docker save busybox | gzip > b.tgz && mooring image import busybox b.tgz
    """
    from mooring.node.images import image_store
    from mooring.oci.store import human_size

    store = image_store(_make_root(data_dir, root_dir))
    made = store.import_image(name, source, lambda line: typer.echo(line, err=True))
    typer.echo(f"imported {_called(name)} ({_short(made.id)}, {human_size(made.size)})")


@app.command("pull")
def pull(
    name: Name,
    creds: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Credentials for registries: the config.json that `docker login` writes.",
            show_default="none",
        ),
    ] = None,
    image_config: ImageConfig = None,
    data_dir: DataDir = None,
    root_dir: RootDir = None,
) -> None:
    """Pull an image from its registry, or see that it is the newest. Needs root.

    A running node has it at once. Passwords are read from a file, never from the command line.

    Example: mooring image pull quay.io/team/tool:v2 --creds ~/.docker/config.json
    """
    import asyncio

    from mooring.cli.image_pull import pull_image, read_keyring
    from mooring.oci.store import human_size

    keyring, settings = read_keyring(creds), images_of(image_config)
    root = _make_root(data_dir, root_dir)
    got = asyncio.run(pull_image(root, name, keyring, settings.pulls))
    typer.echo(f"pulled {_called(name)} ({_short(got.id)}, {human_size(got.size)})")


@app.command("ls")
def ls(data_dir: DataDir = None, root_dir: RootDir = None) -> None:
    """List the images that are here, and how they came."""
    from mooring.oci.store import human_size

    rows = [
        (
            name,
            _short(image.id),
            str(len(image.layers)),
            human_size(image.size),
            "pulled" if name in image.pulled_names else "imported" if image.names else "",
        )
        for image in _store(data_dir, root_dir).list()
        for name in image.names or ("<none, in use>",)
    ]
    table = [("NAME", "ID", "LAYERS", "SIZE", "SOURCE"), *sorted(rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        typer.echo("   ".join(cells).rstrip())


@app.command("rm")
def rm(
    name: Annotated[
        str,
        typer.Argument(
            help="A name of it, or its id, which removes all its names.", show_default=False
        ),
    ],
    data_dir: DataDir = None,
    root_dir: RootDir = None,
) -> None:
    """Remove an image. What containers still use of it goes when they no longer do."""
    removed = _store(data_dir, root_dir).remove(name)
    for gone in removed.names or (() if removed.is_in_use else (name,)):
        typer.echo(f"removed {gone}")
    if removed.is_in_use:
        typer.echo("containers use its files, which go with the next pull, import or rm after")


def _store(data_dir: Path | None, root_dir: Path | None) -> "ImageStore":
    from mooring.node.home import find_node_root
    from mooring.node.images import image_store
    from mooring.stack.config import default_data_dir

    return image_store(find_node_root(data_dir, root_dir, default_data_dir()))


def _make_root(data_dir: Path | None, root_dir: Path | None) -> Path:
    """Where images are kept; what is made for it is told, as a mistyped path would be made too."""
    from mooring.host.mount import Mounts
    from mooring.node.home import make_node_root
    from mooring.stack.config import default_data_dir

    default = default_data_dir()
    kept_in, called = root_dir or data_dir or default, "root" if root_dir else "data"
    is_new = not kept_in.exists()
    root = make_node_root(data_dir, root_dir, default, Mounts())
    if is_new:
        typer.echo(f"mooring: {kept_in} was not there: a new {called} directory is made", err=True)
    return root


def _called(name: str) -> str:
    from mooring.oci.reference import parse

    return str(parse(name))


def _short(image_id: str) -> str:
    return image_id.removeprefix("sha256:")[:12]
