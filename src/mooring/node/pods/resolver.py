"""The `/etc/resolv.conf` of a pod: the cluster's or the host's, with what the pod says. Pure."""

from collections.abc import Iterable, Iterator

import msgspec

from mooring.model.pod import DnsConfig, DnsOption, Pod

MOST_SERVERS = 3  # that the C library asks
MOST_SEARCHES = 32
LONGEST_SEARCHES = 2048  # characters
_NONE = "None"
_CLUSTER_FIRST = ("", "ClusterFirst")
_ON_HOST_NETWORK = "ClusterFirstWithHostNet"
_OPTIONS = ("ndots:5",)  # so that names of services are tried below the domains first


class ClusterDns(msgspec.Struct, frozen=True):
    """Who answers for names of the cluster."""

    servers: tuple[str, ...]
    domain: str


class _Resolver(msgspec.Struct):
    servers: list[str]
    searches: list[str]
    options: list[str]


def resolver(pod: Pod, of_host: str, cluster: ClusterDns | None = None) -> str:
    """The text of the pod's file; for `Default` without a dnsConfig it is a copy of the host's."""
    config = pod.spec.dns_config
    if pod.spec.dns_policy == _NONE:
        base = _Resolver([], [], [])
    elif cluster is not None and _asks_cluster(pod):
        base = _of_cluster(cluster, pod.namespace, _parse(of_host))
    elif config is None:
        return of_host
    else:
        base = _parse(of_host)
    return _written(_added(base, config or DnsConfig()))


def _asks_cluster(pod: Pod) -> bool:
    policy = pod.spec.dns_policy
    if policy == _ON_HOST_NETWORK:
        return True
    return policy in _CLUSTER_FIRST and not pod.spec.host_network


def _of_cluster(cluster: ClusterDns, namespace: str, of_host: _Resolver) -> _Resolver:
    domain = cluster.domain
    searches = [f"{namespace}.svc.{domain}", f"svc.{domain}", domain, *of_host.searches]
    return _Resolver(list(cluster.servers), searches, list(_OPTIONS))


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
