"""Which server, whom to trust and who asks, by what kubeconfigs and the environment say."""

from pathlib import Path
from typing import Any

import pytest

from mooring.client.endpoint import Endpoint
from mooring.client.kubeconfig import find_endpoint
from mooring.client.tls import Trust
from mooring.errors import UsageError
from tests.unit.client.kubeconfigs import (
    SERVER,
    a_kubeconfig,
    around,
    encoded,
    endpoint_of,
    shown,
    written,
)

Doc = dict[str, Any]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config"


# the cluster

SERVERS = {
    "https with a port": ("https://example.com:6443", "https://example.com:6443"),
    "a slash at the end": ("https://example.com/", "https://example.com"),
    "a path, as of a gateway": ("https://example.com/k8s/c-1/", "https://example.com/k8s/c-1"),
    "plain http": ("http://localhost:8080", "http://localhost:8080"),
    "no scheme": ("localhost:8080", "http://localhost:8080"),
    "an IPv6 address": ("https://[::1]:6443", "https://[::1]:6443"),
}


@pytest.mark.parametrize(("given", "then"), SERVERS.values(), ids=SERVERS)
def test_server(path: Path, given: str, then: str) -> None:
    assert endpoint_of(path, a_kubeconfig({"server": given})).server == then


REMEDIES = {
    "this machine": ("https://127.0.0.1:6443", "is `mooring up` running? FILE names this server"),
    "another machine": ("https://example.com:6443", "FILE names this server"),
}


@pytest.mark.parametrize(("given", "then"), REMEDIES.values(), ids=REMEDIES)
def test_what_to_do_when_nothing_answers(path: Path, given: str, then: str) -> None:
    told = endpoint_of(path, a_kubeconfig({"server": given})).remedy
    assert told == then.replace("FILE", str(path))


TRUSTS: dict[str, tuple[Doc, Trust]] = {
    "nothing said": ({}, Trust()),
    "authority as data": ({"certificate-authority-data": encoded("CA")}, Trust(b"CA")),
    "authority in a file beside": ({"certificate-authority": "ca.crt"}, Trust(b"CA in a file")),
    "data goes before the file": (
        {"certificate-authority-data": encoded("CA"), "certificate-authority": "no-such-file"},
        Trust(b"CA"),
    ),
    "anyone": ({"insecure-skip-tls-verify": True}, Trust(skip_verify=True)),
    "another name": ({"tls-server-name": "api.internal"}, Trust(server_name="api.internal")),
}


@pytest.mark.parametrize(("cluster", "then"), TRUSTS.values(), ids=TRUSTS)
def test_trust(path: Path, cluster: Doc, then: Trust) -> None:
    (path.parent / "ca.crt").write_text("CA in a file")
    assert endpoint_of(path, a_kubeconfig(cluster)).trust == then


def test_namespace_and_proxy(path: Path) -> None:
    doc = a_kubeconfig({"proxy-url": "http://proxy:3128"}, context={"namespace": "team"})
    endpoint = endpoint_of(path, doc)
    assert (endpoint.namespace, endpoint.proxy) == ("team", "http://proxy:3128")
    assert endpoint_of(path, a_kubeconfig()).namespace == "default"


def test_the_proxy_of_the_environment_is_used_when_the_cluster_names_none(path: Path) -> None:
    found = find_endpoint(
        written(path, a_kubeconfig()), around(path.parent, HTTPS_PROXY="http://proxy:1")
    )
    assert found.proxy == "http://proxy:1"


# the user

USERS: dict[str, tuple[Doc, tuple[str, str, str]]] = {
    "nobody": ({}, ("", "", "")),
    "a token": ({"token": "t1"}, ("t1", "", "")),
    "a token in a file beside": ({"tokenFile": "token"}, ("t-file", "", "")),
    "the file goes before the token": ({"token": "t1", "tokenFile": "token"}, ("t-file", "", "")),
    "a certificate as data": (
        {"client-certificate-data": encoded("C"), "client-key-data": encoded("K")},
        ("", "C", "K"),
    ),
    "a certificate in files beside": (
        {"client-certificate": "client.crt", "client-key": "client.key"},
        ("", "C-file", "K-file"),
    ),
    "data goes before files": (
        {
            "client-certificate": "no-such-file",
            "client-certificate-data": encoded("C"),
            "client-key": "no-such-file",
            "client-key-data": encoded("K"),
        },
        ("", "C", "K"),
    ),
    "a token and a certificate": (
        {
            "token": "t1",
            "client-certificate-data": encoded("C"),
            "client-key-data": encoded("K"),
        },
        ("t1", "C", "K"),
    ),
    "a token goes before a plugin": (
        {
            "token": "t1",
            "exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "no-such-program"},
        },
        ("t1", "", ""),
    ),
}


@pytest.mark.parametrize(("user", "then"), USERS.values(), ids=USERS)
async def test_user(path: Path, user: Doc, then: tuple[str, str, str]) -> None:
    (path.parent / "token").write_text("t-file\n")
    (path.parent / "client.crt").write_text("C-file")
    (path.parent / "client.key").write_text("K-file")
    endpoint = endpoint_of(path, a_kubeconfig(user=user))
    assert shown(await endpoint.source.proof()) == then


def test_no_secret_shows(path: Path) -> None:
    user = {"token": "secret-token", "client-certificate-data": encoded("C")}
    user["client-key-data"] = encoded("secret-key")
    told = repr(endpoint_of(path, a_kubeconfig(user=user)))
    assert "secret-" not in told
    assert encoded("secret-key") not in told


# mistakes

EXEC = {"apiVersion": "client.authentication.k8s.io/v1", "command": "login"}
MISTAKES: dict[str, tuple[object, str]] = {
    "no YAML": ("a: [", r"is not YAML \(line 2\)|is not YAML \(line 1\)"),
    "no mapping": ("- a\n- b\n", "cannot be understood: Expected `object`"),
    "a value of another type": (
        a_kubeconfig(user={"token": 7}),
        r"cannot be understood: .*users\[0\]\.user\.token",
    ),
    "no current context": (
        a_kubeconfig() | {"current-context": ""},
        "has no current-context: set one with `kubectl config use-context`",
    ),
    "an unknown context": (
        a_kubeconfig() | {"current-context": "x"},
        "has no context named 'x'; it has: c",
    ),
    "an unknown cluster": (
        a_kubeconfig(context={"cluster": "x"}),
        "has no cluster named 'x'; it has: c",
    ),
    "an unknown user": (a_kubeconfig(context={"user": "x"}), "has no user named 'x'; it has: c"),
    "lists that are null": (
        {"current-context": "c", "contexts": None},
        "has no context named 'c'; it has: none",
    ),
    "no server": (a_kubeconfig({"server": ""}), "write it as https://host:port"),
    "a server of another kind": (a_kubeconfig({"server": "ftp://x"}), "write it as https://"),
    "an authority and blind trust": (
        a_kubeconfig({"certificate-authority-data": "eA==", "insecure-skip-tls-verify": True}),
        "remove one of them",
    ),
    "an authority that is no base64": (
        a_kubeconfig({"certificate-authority-data": "%"}),
        "certificate-authority-data of 'c' in .* is not base64",
    ),
    "an authority that is not there": (
        a_kubeconfig({"certificate-authority": "no-such-file"}),
        "cannot read the certificate-authority .*/no-such-file: No such file or directory",
    ),
    "a certificate without its key": (
        a_kubeconfig(user={"client-certificate-data": "eA=="}),
        "only one of client-certificate and client-key; give it both",
    ),
    "a user with a password": (
        a_kubeconfig(user={"username": "u", "password": "hidden"}),
        "has username, which is not supported; use a token",
    ),
    "an auth provider": (
        a_kubeconfig(user={"auth-provider": {"name": "oidc"}}),
        "has auth-provider, which is not supported",
    ),
    "a user that acts as another one": (
        a_kubeconfig(user={"token": "t", "as": "boss"}),
        "has as, which is not supported",
    ),
    "a proxy of another kind": (
        a_kubeconfig({"proxy-url": "socks5://u:hidden@proxy"}),
        "must be the URL of an http or https proxy",
    ),
    "a plugin of another version": (
        a_kubeconfig(user={"exec": EXEC | {"apiVersion": "client.authentication.k8s.io/v1alpha1"}}),
        "set it to client.authentication.k8s.io/v1",
    ),
    "a plugin that wants a terminal": (
        a_kubeconfig(user={"exec": EXEC | {"interactiveMode": "Always"}}),
        "wants a terminal",
    ),
    "a plugin that does not say whether it wants one": (
        a_kubeconfig(user={"exec": EXEC}),
        "has interactiveMode ''; set it to IfAvailable",
    ),
}


@pytest.mark.parametrize(("doc", "words"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_told_in_one_line_with_its_remedy(path: Path, doc: object, words: str) -> None:
    with pytest.raises(UsageError, match=words) as told:
        endpoint_of(path, doc)
    assert "\n" not in str(told.value)
    assert "hidden" not in str(told.value)


def test_a_broken_file_is_not_quoted(path: Path) -> None:
    with pytest.raises(UsageError) as told:
        endpoint_of(path, "users:\n- {name: c, user: {token: hidden-token\n")
    assert "hidden" not in str(told.value)
    assert told.value.__cause__ is None


# which files


def a_server(name: str) -> Doc:
    return a_kubeconfig({"server": f"https://{name}"}, name=name)


def server_of(endpoint: Endpoint) -> str:
    return endpoint.server.removeprefix("https://")


def test_a_path_goes_before_everything(tmp_path: Path) -> None:
    written(tmp_path / ".kube" / "config", a_server("home"))
    other = written(tmp_path / "other", a_server("other"))
    given = written(tmp_path / "given", a_server("given"))
    assert server_of(find_endpoint(given, around(tmp_path, KUBECONFIG=str(other)))) == "given"


def test_a_path_that_leads_nowhere_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no kubeconfig .*/nowhere"):
        find_endpoint(tmp_path / "nowhere", around(tmp_path))


def test_a_directory_is_no_kubeconfig(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read the kubeconfig .*: Is a directory"):
        find_endpoint(tmp_path, around(tmp_path))


def test_the_variable_goes_before_the_home_directory(tmp_path: Path) -> None:
    written(tmp_path / ".kube" / "config", a_server("home"))
    other = written(tmp_path / "other", a_server("other"))
    assert server_of(find_endpoint(None, around(tmp_path, KUBECONFIG=str(other)))) == "other"
    assert server_of(find_endpoint(None, around(tmp_path))) == "home"


def test_the_first_file_of_a_list_wins_name_by_name(tmp_path: Path) -> None:
    first = a_kubeconfig({"server": "https://first"}, {"tokenFile": "token"}, name="a")
    first["current-context"] = "b"
    second = a_kubeconfig({"server": "https://second"}, name="a")
    second["clusters"].append({"name": "b", "cluster": {"server": "https://b"}})
    second["contexts"].append({"name": "b", "context": {"cluster": "a", "user": "a"}})
    paths = [
        tmp_path / "missing",
        written(tmp_path / "one" / "config", first),
        written(tmp_path / "two" / "config", second),
    ]
    listed = "::".join(map(str, paths))  # an empty entry counts for nothing
    endpoint = find_endpoint(None, around(tmp_path, KUBECONFIG=listed))
    assert server_of(endpoint) == "first"


async def test_paths_are_relative_to_the_file_that_names_them(tmp_path: Path) -> None:
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "token").write_text("beside")
    one = written(tmp_path / "one" / "config", {"current-context": "c"})
    two = written(tmp_path / "two" / "config", a_kubeconfig(user={"tokenFile": "token"}))
    endpoint = find_endpoint(None, around(tmp_path, KUBECONFIG=f"{one}:{two}"))
    assert shown(await endpoint.source.proof())[0] == "beside"


def test_a_list_of_files_that_are_all_missing_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="KUBECONFIG names no file that exists: /no/a:/no/b"):
        find_endpoint(None, around(tmp_path, KUBECONFIG="/no/a:/no/b"))


def test_without_anything_the_remedies_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"give --kubeconfig or \$KUBECONFIG, or write .*config"):
        find_endpoint(None, around(tmp_path))


# in a pod


def a_service_account(directory: Path) -> Path:
    account = directory / "serviceaccount"
    account.mkdir()
    (account / "token").write_text("pod-token")
    (account / "ca.crt").write_text("CA of the cluster")
    (account / "namespace").write_text("team\n")
    return account


async def test_in_a_pod_the_service_account_is_used(tmp_path: Path) -> None:
    a_service_account(tmp_path)
    written(tmp_path / ".kube" / "config", a_server("home"))
    here = around(tmp_path, KUBERNETES_SERVICE_HOST="10.0.0.1", KUBERNETES_SERVICE_PORT="443")
    endpoint = find_endpoint(None, here)
    assert endpoint.server == "https://10.0.0.1:443"
    assert endpoint.trust == Trust(b"CA of the cluster")
    assert endpoint.namespace == "team"
    assert shown(await endpoint.source.proof()) == ("pod-token", "", "")


def test_in_a_pod_the_variable_still_goes_first(tmp_path: Path) -> None:
    a_service_account(tmp_path)
    other = written(tmp_path / "other", a_server("other"))
    here = around(tmp_path, KUBERNETES_SERVICE_HOST="10.0.0.1", KUBECONFIG=str(other))
    assert server_of(find_endpoint(None, here)) == "other"


def test_addresses_of_ipv6_are_bracketed(tmp_path: Path) -> None:
    a_service_account(tmp_path)
    here = around(tmp_path, KUBERNETES_SERVICE_HOST="fd00::1", KUBERNETES_SERVICE_PORT="6443")
    assert find_endpoint(None, here).server == "https://[fd00::1]:6443"


def test_a_pod_without_a_service_account_is_not_in_a_cluster(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no server to talk to"):
        find_endpoint(None, around(tmp_path, KUBERNETES_SERVICE_HOST="10.0.0.1"))


def test_a_namespace_file_is_not_needed(tmp_path: Path) -> None:
    (a_service_account(tmp_path) / "namespace").unlink()
    here = around(tmp_path, KUBERNETES_SERVICE_HOST="10.0.0.1")
    assert find_endpoint(None, here).namespace == "default"


def test_the_server_is_what_the_file_says(path: Path) -> None:
    assert endpoint_of(path, a_kubeconfig()).server == SERVER
