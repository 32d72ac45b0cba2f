"""The content of kubeconfig files; several are merged as kubectl merges them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from mooring.client.exec_plugin import Plugin, read_secret
from mooring.client.yaml_document import MOST_BYTES, NotYaml, read_yaml
from mooring.errors import UsageError
from mooring.model.secret_value import SecretValue


class Extension(msgspec.Struct, frozen=True):
    name: str
    extension: Any = None


class Cluster(msgspec.Struct, frozen=True, rename="kebab"):
    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    proxy_url: str = ""
    extensions: list[Extension] | None = None


class User(msgspec.Struct, frozen=True, rename="kebab"):
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: SecretValue | None = None
    token: SecretValue | None = None
    token_file: str = msgspec.field(name="tokenFile", default="")
    exec: Plugin | None = None
    # Read only to be refused: ignoring them would authenticate as another user.
    username: str = ""
    password: SecretValue | None = None
    auth_provider: Any = None
    impersonated: str = msgspec.field(name="as", default="")
    impersonated_uid: str = msgspec.field(name="as-uid", default="")
    impersonated_groups: list[str] | None = msgspec.field(name="as-groups", default=None)
    impersonated_extra: Any = msgspec.field(name="as-user-extra", default=None)

    def refused_keys(self) -> list[str]:
        """The keys it has that are not supported."""
        known: dict[str, object] = {
            "username": self.username,
            "password": self.password,
            "auth-provider": self.auth_provider,
            "as": self.impersonated,
            "as-uid": self.impersonated_uid,
            "as-groups": self.impersonated_groups,
            "as-user-extra": self.impersonated_extra,
        }
        return [key for key, value in known.items() if value]


class Context(msgspec.Struct, frozen=True):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(msgspec.Struct, frozen=True):
    name: str
    cluster: Cluster = Cluster()


class _NamedUser(msgspec.Struct, frozen=True):
    name: str
    user: User = User()


class _NamedContext(msgspec.Struct, frozen=True):
    name: str
    context: Context = Context()


class _File(msgspec.Struct, frozen=True, rename="kebab"):
    current_context: str = ""
    clusters: list[_NamedCluster] | None = None
    users: list[_NamedUser] | None = None
    contexts: list[_NamedContext] | None = None


E = TypeVar("E", Cluster, User, Context)


class Found(msgspec.Struct, Generic[E], frozen=True):
    """An entry, its name, and its file: paths in the entry are relative to the file."""

    name: str
    entry: E
    file: Path

    def beside(self, path: str) -> Path:
        return (self.file.parent / path).absolute()


class Merged:
    """Several files as one: the first file that defines a name wins."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.where = ":".join(map(str, paths))
        self.current_context = ""
        self._clusters: dict[str, Found[Cluster]] = {}
        self._users: dict[str, Found[User]] = {}
        self._contexts: dict[str, Found[Context]] = {}

    def add(self, path: Path, file: _File) -> None:
        self.current_context = self.current_context or file.current_context
        for cluster in file.clusters or ():
            name = cluster.name
            self._clusters.setdefault(name, Found(name, cluster.cluster, path))
        for user in file.users or ():
            self._users.setdefault(user.name, Found(user.name, user.user, path))
        for context in file.contexts or ():
            name = context.name
            self._contexts.setdefault(name, Found(name, context.context, path))

    def cluster(self, name: str) -> Found[Cluster]:
        return self._pick(self._clusters, name, "cluster")

    def user(self, name: str) -> Found[User]:
        return self._pick(self._users, name, "user")

    def context(self, name: str) -> Found[Context]:
        return self._pick(self._contexts, name, "context")

    def _pick(self, known: Mapping[str, Found[E]], name: str, what: str) -> Found[E]:
        found = known.get(name)
        if found is None:
            there = ", ".join(sorted(known)) or "none"
            raise UsageError(f"{self.where} has no {what} named {name!r}; it has: {there}")
        return found


def read_files(paths: Sequence[Path], *, may_miss: bool) -> Merged:
    """Read and merge; with `may_miss`, missing files count as empty. Raises: UsageError."""
    merged = Merged(paths)
    found = 0
    for path in paths:
        try:
            with path.open("rb") as file:
                content = file.read(MOST_BYTES + 1)
        except FileNotFoundError:
            if may_miss:
                continue
            raise UsageError(f"there is no kubeconfig {path}") from None
        except OSError as error:
            raise UsageError(f"cannot read the kubeconfig {path}: {error.strerror}") from error
        except ValueError:
            raise UsageError(f"cannot read the kubeconfig {str(path)!r}: no such path") from None
        merged.add(path, _parse(path, content))
        found += 1
    if not found:
        raise UsageError(f"KUBECONFIG names no file that exists: {merged.where}")
    return merged


def _parse(path: Path, content: bytes) -> _File:
    """Errors name the line, never its content: a kubeconfig is full of secrets."""
    try:
        document = read_yaml(content)
    except NotYaml as error:
        raise UsageError(f"the kubeconfig {path} {error}") from None
    try:
        return msgspec.convert(document or {}, _File, dec_hook=read_secret)
    except msgspec.ValidationError as error:
        raise UsageError(f"the kubeconfig {path} cannot be understood: {error}") from None
