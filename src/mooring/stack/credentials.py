"""Kubeconfigs for the roles of a server, made from its data directory."""

from errno import EDQUOT, ENOSPC
from pathlib import Path

import yaml

from mooring import log
from mooring.apiserver.auth.kubeconfig import Kubeconfig
from mooring.apiserver.auth.tokens import FIXED_ROLES, NODE_PREFIX, Token, open_role_tokens
from mooring.errors import UsageError
from mooring.host.private_file import find_private, write_private

TOKENS = "tokens.json"
SERVER_URL = "server-url"

_log = log.get("mooring.stack")

_NO_ROOM = (ENOSPC, EDQUOT)


def kubeconfig_for(data_dir: Path, role: str, server: str = "") -> Kubeconfig:
    """A kubeconfig with the token of `role`; `server` defaults to the server's last URL.

    A running server accepts the token of a new node at once. Raises UsageError.
    """
    try:
        authority = find_private(data_dir / "pki" / "ca.crt")
        token = _token(data_dir, role) if authority else None
    except OSError as error:
        raise UsageError(f"cannot read {data_dir}: {error.strerror}") from error
    if authority is None or token is None:
        raise UsageError(
            f"{data_dir} holds no keys of a server: give the --data-dir of `mooring up`, or run "
            f"`mooring up --data-dir {data_dir}` first"
        )
    return Kubeconfig(server or last_url(data_dir), authority, token, context=f"mooring-{role}")


def write_kubeconfig(kubeconfig: Kubeconfig, path: Path) -> None:
    """Raises UsageError when the file cannot be written."""
    try:
        kubeconfig.write(path)
    except OSError as error:
        raise UsageError(f"cannot write the kubeconfig {path}: {error.strerror}") from error


def keep_kubeconfig(kubeconfig: Kubeconfig, path: Path) -> None:
    """Write the kubeconfig at the start of a server, unless it is there already.

    On a full disk that fails with a log line only, since stored objects can still be read.
    """
    try:
        if find_private(path) == kubeconfig.text().encode():
            return
        kubeconfig.write(path)
    except OSError as error:
        text = f"cannot write the kubeconfig {path}: {error.strerror}"
        if error.errno not in _NO_ROOM:
            raise UsageError(text) from error
        _log.warning("the kubeconfig is not up to date", because=text)


def check_role(role: str) -> None:
    """Raises: UsageError when there is no such role."""
    if role not in FIXED_ROLES and not role.startswith(NODE_PREFIX):
        known = ", ".join((*FIXED_ROLES, f"{NODE_PREFIX}<name>"))
        raise UsageError(f"there is no role {role!r}; choose one of {known}")


def keep_server_url(data_dir: Path, url: str) -> None:
    """By which other machines reach the server, for `mooring token create`."""
    path = data_dir / SERVER_URL
    try:
        if find_private(path) != url.encode():
            write_private(path, url.encode())
    except OSError as error:
        _log.warning("the server's URL is not kept", because=error.strerror)


def find_server_url(data_dir: Path) -> str:
    """By which other machines reach it; empty when that is not known."""
    try:
        return (find_private(data_dir / SERVER_URL) or b"").decode(errors="replace")
    except OSError as error:
        raise UsageError(f"cannot read {data_dir}: {error.strerror}") from error


def _token(data_dir: Path, role: str) -> Token:
    tokens = open_role_tokens(data_dir / TOKENS)
    if role.startswith(NODE_PREFIX):
        return tokens.node_token(role.removeprefix(NODE_PREFIX))
    check_role(role)
    return tokens.token(role)


def last_url(data_dir: Path) -> str:
    """By which this machine reaches the server. Raises: UsageError when it never ran."""
    content = find_private(data_dir / "kubeconfig")
    if content is None:
        raise UsageError("the server's URL is not known yet: give it with --server")
    return str(yaml.safe_load(content)["clusters"][0]["cluster"]["server"])
