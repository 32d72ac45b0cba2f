"""The `/etc/resolv.conf` of a pod: the host's, with what the pod says, or the pod's alone. Pure.

There is no cluster DNS, so `ClusterFirst` is the host's, as with a kubelet without `clusterDNS`.
"""

from collections.abc import Iterable, Iterator

import msgspec

from mooring.model.pod import DnsConfig, DnsOption, Pod

MOST_SERVERS = 3  # that the C library asks
MOST_SEARCHES = 32
LONGEST_SEARCHES = 2048  # characters
_NONE = "None"


class _Resolver(msgspec.Struct):
    servers: list[str]
    searches: list[str]
    options: list[str]


def resolver(pod: Pod, of_host: str) -> str:
    """The text of the pod's file; without a dnsConfig it is a copy of the host's."""
    config = pod.spec.dns_config
    if pod.spec.dns_policy != _NONE and config is None:
        return of_host
    base = _Resolver([], [], []) if pod.spec.dns_policy == _NONE else _parse(of_host)
    return _written(_added(base, config or DnsConfig()))


def _parse(text: str) -> _Resolver:
    found = _Resolver([], [], [])
    for line in text.splitlines():
        match line.split():
            case ["nameserver", server, *_]:
                found.servers.append(server)
            case ["search", *searches]:
                found.searches = searches  # the last line counts
            case ["options", *options]:
                found.options = options
            case _:
                pass
    return found


def _added(base: _Resolver, config: DnsConfig) -> _Resolver:
    options = {option.partition(":")[0]: option for option in base.options}
    options |= {option.name: _spelled(option) for option in config.options}
    return _Resolver(
        list(dict.fromkeys((*base.servers, *config.nameservers)))[:MOST_SERVERS],
        list(_fitting(dict.fromkeys((*base.searches, *config.searches)))),
        list(options.values()),
    )


def _spelled(option: DnsOption) -> str:
    return option.name if option.value is None else f"{option.name}:{option.value}"


def _fitting(searches: Iterable[str]) -> Iterator[str]:
    """As many as a kubelet writes."""
    length = -1
    for number, search in enumerate(searches):
        length += len(search) + 1
        if number >= MOST_SEARCHES or length > LONGEST_SEARCHES:
            return
        yield search


def _written(found: _Resolver) -> str:
    lines = [f"nameserver {server}\n" for server in found.servers]
    if found.searches:
        lines.append(f"search {' '.join(found.searches)}\n")
    if found.options:
        lines.append(f"options {' '.join(found.options)}\n")
    return "".join(lines)
