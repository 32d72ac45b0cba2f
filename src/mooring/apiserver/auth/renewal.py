"""Renews the server's certificate while it runs: its end may come, and clocks are set.

A machine without a battery starts in 1970; what was issued then has expired a minute later, when
its clock is right.
"""

import asyncio
import ssl
from collections.abc import Callable

from cryptography import x509

from mooring import log
from mooring.apiserver.auth.pki import Pki, find_flaw, server_context
from mooring.clock import Clock
from mooring.errors import UsageError

LOG = log.get("mooring.pki")

LOOK_EVERY = 60.0  # seconds


class Renewal:
    def __init__(
        self,
        pki: Pki,
        reopen: Callable[[], Pki],
        use: Callable[[ssl.SSLContext], None],
        clock: Clock,
    ) -> None:
        """`reopen` issues the certificates, `use` serves them on new connections."""
        self._certificate = _certificate_of(pki)
        self._reopen = reopen
        self._use = use
        self._clock = clock

    async def run(self) -> None:
        """Look now and then, until cancelled."""
        while True:
            await self._clock.sleep(LOOK_EVERY)
            if find_flaw(self._certificate, self._clock.now()) is None:
                continue
            try:
                renewed = await asyncio.to_thread(self._renewed)
            except (UsageError, OSError, ssl.SSLError) as error:
                LOG.warning("the server's certificate could not be renewed", because=error)
                continue
            self._certificate, context = renewed
            self._use(context)

    def _renewed(self) -> tuple[x509.Certificate, ssl.SSLContext]:
        pki = self._reopen()
        return _certificate_of(pki), server_context(pki)


def _certificate_of(pki: Pki) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pki.server_file.read_bytes())
