"""Threads that are none: what is sent to one has happened before anything else does.

So virtual time and turns of the event loop are all that a test has to wait for.
"""

from mooring.host import blocking
from mooring.host.bulkhead import Bulkheads
from mooring.host.daemon_threads import Job


def run_inline(job: Job) -> None:
    job()()


def install_inline_threads() -> None:
    """For the running loop."""
    blocking.install(Bulkheads(run_inline))
