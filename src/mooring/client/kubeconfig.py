"""Finding the API server's endpoint in kubeconfigs, or the service account of a pod.

Decision 6 (docs/decisions) says why this is written here and not taken from a library.
"""

import base64
from collections.abc import Mapping
from pathlib import Path

import msgspec

from mooring.client.credentials import NOBODY, Given, Held, InFile, Source, Text
from mooring.client.endpoint import Endpoint, find_address
from mooring.client.exec_plugin import GROUP, FromPlugin
from mooring.client.kubeconfig_file import Cluster, Found, Merged, User, read_files
from mooring.client.proxies import find_proxy
from mooring.client.tls import Trust
from mooring.clock import Clock
from mooring.errors import UsageError
from mooring.model.secret_value import SecretValue

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
EXTENSION = f"{GROUP}/exec"  # the cluster's extension that is passed to exec plugins


class Surroundings(msgspec.Struct, frozen=True):
    """The parts of the process's environment that decide which server is used."""

    environment: Mapping[str, str]
    clock: Clock
    service_account: Path = SERVICE_ACCOUNT

    @property
    def is_in_cluster(self) -> bool:
        return bool(
            self.environment.get("KUBERNETES_SERVICE_HOST")
            and (self.service_account / "token").exists()
        )


def find_endpoint(path: Path | None, around: Surroundings) -> Endpoint:
    """The file at `path`; if none is given, $KUBECONFIG, the pod's service account, or
    ~/.kube/config, whichever of these there is first.

    Raises: UsageError.
    """
    if path is not None:
        return _endpoint(read_files([path], may_miss=False), around)
    listed = [Path(each) for each in around.environment.get("KUBECONFIG", "").split(":") if each]
    if listed:
        return _endpoint(read_files(listed, may_miss=True), around)
    if around.is_in_cluster:
        return in_cluster(around)
    usual = Path(around.environment.get("HOME") or "/") / ".kube" / "config"
    if usual.exists():
        return _endpoint(read_files([usual], may_miss=False), around)
    raise UsageError(f"no server to talk to: give --kubeconfig or $KUBECONFIG, or write {usual}")


def in_cluster(around: Surroundings) -> Endpoint:
    """The server of the cluster that this pod runs in. Raises: UsageError."""
    host = around.environment.get("KUBERNETES_SERVICE_HOST", "")
    port = around.environment.get("KUBERNETES_SERVICE_PORT") or "443"
    named = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    server = find_address(named)
    if server is None:
        raise UsageError(f"KUBERNETES_SERVICE_HOST and _PORT name no server: {named!r}")
    account = around.service_account
    try:
        namespace = (account / "namespace").read_text().strip()
    except (OSError, ValueError):
        namespace = ""  # projected volumes may lack the file
    return Endpoint(
        server=server,
        trust=Trust(InFile(account / "ca.crt", "authority of the cluster").read()),
        source=Held(InFile(account / "token", "token of the service account")),
        namespace=namespace or "default",
    )


def _endpoint(merged: Merged, around: Surroundings) -> Endpoint:
    """The endpoint of the current context."""
    if not merged.current_context:
        raise UsageError(
            f"{merged.where} has no current-context: set one with `kubectl config use-context`"
        )
    context = merged.context(merged.current_context).entry
    cluster = merged.cluster(context.cluster)
    server = _server(cluster)
    endpoint = Endpoint(
        server=server,
        trust=_trust(cluster),
        proxy=find_proxy(cluster.entry.proxy_url, server, around.environment),
        namespace=context.namespace or "default",
        told_by=str(cluster.file),
    )
    if not context.user:
        return endpoint
    source = _source(merged.user(context.user), cluster, endpoint, around)
    return msgspec.structs.replace(endpoint, source=source)


def _server(found: Found[Cluster]) -> str:
    server = found.entry.server
    address = find_address(server if "://" in server else f"http://{server}")
    if address is None:
        raise UsageError(
            f"the cluster {found.name!r} in {found.file} has the server {server!r}; "
            "write it as https://host:port"
        )
    return address


def _trust(found: Found[Cluster]) -> Trust:
    cluster = found.entry
    has_authority = cluster.certificate_authority or cluster.certificate_authority_data
    if has_authority and cluster.insecure_skip_tls_verify:
        raise UsageError(
            f"the cluster {found.name!r} in {found.file} has a certificate-authority and "
            "insecure-skip-tls-verify; remove one of them"
        )
    authority = _text(
        found,
        "certificate-authority",
        cluster.certificate_authority_data,
        cluster.certificate_authority,
    )
    return Trust(
        authority.read() if authority else b"",
        cluster.insecure_skip_tls_verify,
        cluster.tls_server_name,
    )


def _source(
    found: Found[User], cluster: Found[Cluster], endpoint: Endpoint, around: Surroundings
) -> Source:
    user = found.entry
    if refused := user.refused_keys():
        raise UsageError(
            f"the user {found.name!r} in {found.file} has {refused[0]}, which is not supported; "
            "use a token, a client certificate or an exec plugin"
        )
    token: Text | None = Given(user.token) if user.token else None
    if user.token_file:
        token = InFile(found.beside(user.token_file), "tokenFile")
    key_data = user.client_key_data.reveal().decode() if user.client_key_data else ""
    certificate = _text(
        found, "client-certificate", user.client_certificate_data, user.client_certificate
    )
    key = _text(found, "client-key", key_data, user.client_key)
    if (certificate is None) != (key is None):
        raise UsageError(
            f"the user {found.name!r} in {found.file} has only one of client-certificate and "
            "client-key; give it both"
        )
    if token or certificate:
        return Held(token, certificate, key)
    return _from_plugin(found, cluster, endpoint, around) if user.exec else NOBODY


def _text(found: Found[Cluster] | Found[User], what: str, data: str, path: str) -> Text | None:
    """The value given as data in the kubeconfig or, if there is none, by a file's path."""
    if data:
        try:
            return Given(SecretValue(base64.b64decode(data, validate=True)))
        except ValueError:
            raise UsageError(
                f"{what}-data of {found.name!r} in {found.file} is not base64"
            ) from None
    return InFile(found.beside(path), what) if path else None


def _from_plugin(
    found: Found[User], cluster: Found[Cluster], endpoint: Endpoint, around: Surroundings
) -> Source:
    plugin = found.entry.exec
    assert plugin is not None  # noqa: S101  only called when there is one
    plugin.check()
    if "/" in plugin.command:
        plugin = msgspec.structs.replace(plugin, command=str(found.beside(plugin.command)))
    told = _told(cluster.entry, endpoint)
    return FromPlugin(plugin, told, around.environment, around.clock)


def _told(cluster: Cluster, endpoint: Endpoint) -> dict[str, object]:
    """The cluster's information for an exec plugin with `provideClusterInfo`."""
    trust = endpoint.trust
    known: dict[str, object] = {
        "server": endpoint.server,
        "tls-server-name": trust.server_name,
        "insecure-skip-tls-verify": trust.skip_verify,
        "certificate-authority-data": base64.b64encode(trust.authority).decode(),
        "proxy-url": cluster.proxy_url,
        "config": next(
            (e.extension for e in cluster.extensions or () if e.name == EXTENSION), None
        ),
    }
    return {key: value for key, value in known.items() if value}
