"""What a container runs, out of what the pod and the image say."""

from collections.abc import Mapping

from mooring.model.container import Container
from mooring.node.pods.environment import expand_all
from mooring.node.pods.waiting_reason import CREATE, CannotStart
from mooring.oci.contract import StoredImage

# The placeholder must end on SIGTERM: a plain `sleep` as the container's first process would ignore
# it.
SLEEP_FOREVER = ("/bin/sh", "-c", 'trap "exit 0" TERM INT; sleep 2147483647 & wait')


def command_line(
    container: Container, image: StoredImage | None, variables: Mapping[str, str]
) -> tuple[str, ...]:
    """Without an image there is always something to run.

    Raises: CannotStart when there is nothing, or when it is too long.
    """
    command = expand_all(container.command, variables)
    args = expand_all(container.args, variables)
    if command:
        return (*command, *args)
    if image is None:
        return args or SLEEP_FOREVER
    line = (*image.config.entrypoint, *(args or image.config.command))
    if not line:
        raise CannotStart(CREATE, "no command specified")
    return line


def variables_of(image: StoredImage | None, variables: Mapping[str, str]) -> tuple[str, ...]:
    """NAME=value: what the image sets, and what the pod sets in its stead or beside it."""
    found = {}
    for line in () if image is None else image.config.environment:
        name, _, value = line.partition("=")
        found[name] = value
    return tuple(f"{name}={value}" for name, value in {**found, **variables}.items())


def working_directory(container: Container, image: StoredImage | None) -> str:
    of_image = "" if image is None else image.config.working_dir
    return container.working_dir or of_image or "/"
