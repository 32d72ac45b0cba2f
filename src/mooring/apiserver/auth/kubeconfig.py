"""Kubeconfig files: the server's address and a client's credentials."""

import base64
from pathlib import Path
from typing import Any

import msgspec
import yaml

from mooring.apiserver.auth.tokens import Token
from mooring.host.private_file import check_link, write_private
from mooring.model.document import Doc


class Kubeconfig(msgspec.Struct, frozen=True):
    """One server, one user, one context."""

    server: str  # its URL
    ca_certificate: bytes  # PEM
    token: Token
    context: str = "mooring"
    namespace: str = ""  # empty: the client's default

    def document(self) -> Doc:
        """Holds the token in the clear: for writing, not for printing."""
        context = {"cluster": self.context, "user": self.context}
        if self.namespace:
            context["namespace"] = self.namespace
        authority = base64.b64encode(self.ca_certificate).decode()
        cluster = {"server": self.server, "certificate-authority-data": authority}
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": self.context, "cluster": cluster}],
            "users": [{"name": self.context, "user": {"token": self.token.reveal()}}],
            "contexts": [{"name": self.context, "context": context}],
            "current-context": self.context,
        }

    def text(self) -> str:
        """As YAML. Every value is quoted: bare, `n`, `on`, `1e3` are not strings to all parsers."""
        return yaml.dump(
            _with_quoted_values(self.document()),
            Dumper=_Dumper,
            sort_keys=False,
            allow_unicode=True,
            width=2**31,
        )

    def write(self, path: Path) -> None:
        """Replace the file at `path` (or what it links to); only its owner can read it.

        Raises: OSError, also for a link that belongs to another user.
        """
        check_link(path)
        target = path.resolve()
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(target, self.text().encode())


class _Quoted(str):
    __slots__ = ()


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_quoted(dumper: yaml.SafeDumper, text: _Quoted) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')


_Dumper.add_representer(_Quoted, _represent_quoted)


def _with_quoted_values(value: Any) -> Any:
    match value:
        case dict():
            return {key: _with_quoted_values(item) for key, item in value.items()}
        case list():
            return [_with_quoted_values(item) for item in value]
        case _:
            return _Quoted(value)
