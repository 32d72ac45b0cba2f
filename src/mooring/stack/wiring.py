"""Running a role in this process, from start to a clean stop."""

import asyncio
import contextlib
import signal
from collections.abc import Callable

import uvloop

from mooring.apiserver.auth.kubeconfig import Kubeconfig
from mooring.apiserver.auth.tokens import ADMIN
from mooring.apiserver.server import Address, Running, running
from mooring.clock import RealClock
from mooring.errors import UsageError
from mooring.stack.config import LOOPBACK, Config

Say = Callable[[str], None]


def run_apiserver(config: Config, say: Say) -> None:
    """Run until SIGTERM or SIGINT; `say` is told one line when the server is ready."""
    uvloop.run(_apiserver(config, say))


async def _apiserver(config: Config, say: Say) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    address = Address(config.host, config.port)
    async with running(config.data_dir, address, RealClock(), config.names) as server:
        written = write_kubeconfigs(config, server)
        say(f"mooring is ready at {server.address.url} (kubectl --kubeconfig {written})")
        await stop.wait()
    with contextlib.suppress(ValueError):
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


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
        try:
            kubeconfig.write(path)
        except OSError as error:
            raise UsageError(f"cannot write the kubeconfig {path}: {error.strerror}") from error
    return str(paths[-1])
