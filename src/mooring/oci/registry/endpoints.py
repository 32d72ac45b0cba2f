"""Where an image is asked for: the mirrors of its registry, then the registry itself. Pure.

A registry on loopback may speak plain HTTP, as with Docker: it is tried with TLS first, whose
certificate is not verified then.
"""

from collections.abc import Iterator
from urllib.parse import urlsplit

import msgspec

from mooring.oci.reference import DOCKER, Reference
from mooring.oci.registry.loopback import is_loopback
from mooring.oci.registry.settings import PullSettings, RegistrySettings

_DOCKER_HOST = "registry-1.docker.io"


class RegistryEndpoint(msgspec.Struct, frozen=True):
    """One server that may have the image."""

    url: str  # without a slash at its end
    repository: str  # path of the image there
    host: str  # by which credentials are found
    ca_file: str = ""
    skips_verify: bool = False
    is_mirror: bool = False

    @property
    def may_be_plain(self) -> bool:
        """Whether its tokens may be asked for over plain HTTP too."""
        return is_loopback(urlsplit(self.url).hostname or "")


def split(reference: Reference) -> tuple[str, str]:
    """The registry's host and the path of the image there."""
    host, _, path = reference.repository.partition("/")
    return host, path


def endpoints(reference: Reference, settings: PullSettings) -> tuple[RegistryEndpoint, ...]:
    """In the order in which they are asked."""
    host, path = split(reference)
    own = settings.of(host)
    return (*_mirrors(own, settings, path), *_of_registry(host, path, own))


def _mirrors(
    own: RegistrySettings, settings: PullSettings, path: str
) -> Iterator[RegistryEndpoint]:
    for mirror in own.mirrors:
        url = urlsplit(mirror)
        is_local = is_loopback(url.hostname or "")
        said = settings.of(url.netloc)
        below = url.path.strip("/")
        yield RegistryEndpoint(
            url=f"{url.scheme}://{url.netloc}",
            repository=f"{below}/{path}" if below else path,
            host=url.netloc,
            ca_file=said.ca_file,
            skips_verify=said.insecure_skip_tls_verify or is_local,
            is_mirror=True,
        )


def _of_registry(host: str, path: str, own: RegistrySettings) -> Iterator[RegistryEndpoint]:
    server = _DOCKER_HOST if host == DOCKER else host
    is_local = is_loopback(urlsplit(f"//{server}").hostname or "")
    made = RegistryEndpoint(
        url=f"https://{server}",
        repository=path,
        host=host,
        ca_file=own.ca_file,
        skips_verify=own.insecure_skip_tls_verify or (is_local and not own.ca_file),
    )
    yield made
    if is_local and not own.ca_file:
        yield msgspec.structs.replace(made, url=f"http://{server}")
