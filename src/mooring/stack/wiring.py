"""Running a role in this process, from start to a clean stop."""

import resource
from collections.abc import Callable

import uvloop

from mooring.apiserver.auth.kubeconfig import Kubeconfig
from mooring.apiserver.auth.tokens import ADMIN
from mooring.apiserver.server import Address, Running, running
from mooring.clock import RealClock
from mooring.stack.config import LOOPBACK, Config
from mooring.stack.credentials import write_kubeconfig
from mooring.stack.stopping import stop_asked

Say = Callable[[str], None]

MOST_OPEN_FILES = 1 << 16  # where the system sets no limit


def run_apiserver(config: Config, say: Say) -> None:
    """Run until SIGTERM or SIGINT; `say` is told one line when the server is ready."""
    allow_many_connections()
    uvloop.run(_apiserver(config, say))


def allow_many_connections() -> None:
    """Each client costs an open file; the limit that programs start with is meant for few."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_OPEN_FILES if hard == resource.RLIM_INFINITY else hard
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


async def _apiserver(config: Config, say: Say) -> None:
    stop = stop_asked()
    address = Address(config.host, config.port)
    async with running(config.data_dir, address, RealClock(), config.names) as server:
        written = write_kubeconfigs(config, server)
        say(f"mooring is ready at {server.address.url} (kubectl --kubeconfig {written})")
        await stop.wait()


def write_kubeconfigs(config: Config, server: Running) -> str:
    """The admin's kubeconfig, in the data directory and wherever else it was asked for."""
    unspecified = server.address.host in ("0.0.0.0", "::")  # noqa: S104  compared, not bound
    host = LOOPBACK if unspecified else server.address.host
    kubeconfig = Kubeconfig(
        Address(host, server.address.port).url,
        server.pki.ca_certificate,
        server.tokens.token(ADMIN),
    )
    paths = [config.own_kubeconfig]
    if config.kubeconfig is not None:
        paths.append(config.kubeconfig)
    for path in paths:
        write_kubeconfig(kubeconfig, path)
    return str(paths[-1])
