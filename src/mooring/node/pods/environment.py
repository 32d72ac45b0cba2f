"""The variables that a container is given: its own, those of whole objects, those of services."""

import re
from collections.abc import Iterable, Mapping
from typing import Protocol

import msgspec
from msgspec.structs import replace

from mooring.errors import ApiError, NotFound
from mooring.model.config_map import ConfigMap
from mooring.model.container import Container, KeyRef, Variable, VariablesFrom
from mooring.model.keys import Key
from mooring.model.pod import Pod
from mooring.model.pod_volume import ResourceRef
from mooring.model.secret import Secret
from mooring.node.pods.waiting_reason import Misconfigured
from mooring.plugins.downward_values import field_value, resource_value

# `$$` stands for `$`; a reference to an unknown variable, and a single `$`, stay as they are.
_REFERENCE = re.compile(r"\$(?:\$|\(([^)]*)\))")

MOST_PUT_IN = 128 * 1024  # characters that references may add to one text; execve takes no more
MOST_TOGETHER = 6 * 1024 * 1024  # of a command, or of an environment: as execve has it


class Objects(Protocol):
    """What a node may see of the API for its pods: `plugins.volume_host.NodeObjects`."""

    async def secret(self, key: Key) -> Secret: ...

    async def config_map(self, key: Key) -> ConfigMap: ...

    def allocatable(self) -> Mapping[str, str]: ...


class EnvironmentSources(msgspec.Struct, frozen=True):
    """The sources of environment variables beside the pod itself."""

    objects: Objects
    address: str = ""  # of the node, and so of its pods
    services: Mapping[str, str] = {}  # variables by which clients in pods find services


def api_server_variables(host: str, port: int) -> Mapping[str, str]:
    """How clients in pods find the API server: as if a service `kubernetes` were there."""
    shown = f"[{host}]" if ":" in host else host
    url, prefix = f"tcp://{shown}:{port}", f"KUBERNETES_PORT_{port}_TCP"
    return {
        "KUBERNETES_SERVICE_HOST": host,
        "KUBERNETES_SERVICE_PORT": str(port),
        "KUBERNETES_SERVICE_PORT_HTTPS": str(port),
        "KUBERNETES_PORT": url,
        prefix: url,
        f"{prefix}_PROTO": "tcp",
        f"{prefix}_PORT": str(port),
        f"{prefix}_ADDR": host,
    }


def expand(text: str, *variables: Mapping[str, str]) -> str:
    """Put values for `$(NAME)`; the first mapping that knows the name wins.

    Variables of ten references each multiply: a few lines would fill the memory of the machine.
    Raises: Misconfigured when the result is longer than anything that can be run.
    """
    put_in = 0

    def value(reference: re.Match[str]) -> str:
        nonlocal put_in
        name = reference[1]
        if name is None:
            return "$"
        found = next((known[name] for known in variables if name in known), reference[0])
        put_in += len(found)
        if put_in > MOST_PUT_IN:
            raise Misconfigured(f"references to variables may add {MOST_PUT_IN} characters at most")
        return found

    return _REFERENCE.sub(value, text)


def expand_all(words: Iterable[str], *variables: Mapping[str, str]) -> tuple[str, ...]:
    """`expand` each word of a command. Raises: Misconfigured, also when all are too long."""
    together = _Together("command")
    return tuple(together.count(expand(word, *variables)) for word in words)


class _Together:
    """Adds up texts of which each alone is short enough."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._length = 0

    def count(self, text: str) -> str:
        self._length += len(text)
        if self._length > MOST_TOGETHER:
            raise Misconfigured(f"the {self._what} is longer than {MOST_TOGETHER} characters")
        return text


async def environment(
    pod: Pod, container: Container, surroundings: EnvironmentSources
) -> Mapping[str, str]:
    """Everything but what the image sets.

    Raises: Misconfigured in the words of Kubernetes; ConnectionLost.
    """
    reader = _Reader(pod, surroundings)
    found: dict[str, str] = {}
    together = _Together("environment")  # many variables may show one large object
    for source in container.env_from:
        for name, value in (await reader.all_of(source)).items():
            found[name] = together.count(value)
    for variable in container.env:
        text = await reader.value(variable, container, found)
        if text is not None:
            found[variable.name] = together.count(text)
    return {**surroundings.services, **found}


class _Reader:
    """Reads each object once for a container."""

    def __init__(self, pod: Pod, surroundings: EnvironmentSources) -> None:
        self._pod = pod
        self._surroundings = surroundings
        self._config_maps: dict[str, Mapping[str, str]] = {}
        self._secrets: dict[str, Mapping[str, str]] = {}

    async def all_of(self, source: VariablesFrom) -> Mapping[str, str]:
        entries: Mapping[str, str] | None = None
        if source.config_map_ref is not None:
            ref = source.config_map_ref
            entries = await self._config_map(ref.name, is_optional=bool(ref.optional))
        elif source.secret_ref is not None:
            ref = source.secret_ref
            entries = await self._secret(ref.name, is_optional=bool(ref.optional))
        return {source.prefix + name: value for name, value in (entries or {}).items()}

    async def value(
        self, variable: Variable, container: Container, found: Mapping[str, str]
    ) -> str | None:
        """None: it stays unset."""
        source = variable.value_from
        if variable.value or source is None:
            return expand(variable.value, found, self._surroundings.services)
        try:
            if source.field_ref is not None:
                return self._field(source.field_ref.field_path)
            if source.resource_field_ref is not None:
                return self._resource(source.resource_field_ref, container)
        except ValueError as error:
            raise Misconfigured(str(error)) from error
        if (ref := source.config_map_key_ref) is not None:
            entries = await self._config_map(ref.name, is_optional=bool(ref.optional))
            return self._entry(entries, ref, "ConfigMap")
        if (ref := source.secret_key_ref) is not None:
            entries = await self._secret(ref.name, is_optional=bool(ref.optional))
            return self._entry(entries, ref, "Secret")
        if source.file_key_ref is not None:
            raise Misconfigured(
                f"the variable {variable.name} cannot be had: this node reads none from files"
            )
        raise Misconfigured(f"nothing says where the variable {variable.name} comes from")

    def _field(self, path: str) -> str:
        address = self._surroundings.address
        match path:
            case "spec.nodeName":
                return self._pod.spec.node_name
            case "spec.serviceAccountName":
                return self._pod.spec.service_account_name
            case "status.hostIP" | "status.hostIPs" | "status.podIP" | "status.podIPs":
                return address
            case _:
                return field_value(self._pod, path)

    def _resource(self, ref: ResourceRef, container: Container) -> str:
        named = replace(ref, container_name=ref.container_name or container.name)
        return resource_value(named, self._pod, self._surroundings.objects.allocatable())

    def _entry(self, entries: Mapping[str, str] | None, ref: KeyRef, kind: str) -> str | None:
        if entries is None:
            return None
        if ref.key not in entries and not ref.optional:
            raise Misconfigured(
                f"couldn't find key {ref.key} in {kind} {self._pod.namespace}/{ref.name}"
            )
        return entries.get(ref.key)

    async def _config_map(self, name: str, *, is_optional: bool) -> Mapping[str, str] | None:
        if name not in self._config_maps:
            try:
                found = await self._surroundings.objects.config_map(Key(self._pod.namespace, name))
            except ApiError as error:
                if isinstance(error, NotFound) and is_optional:
                    return None
                raise Misconfigured(str(error)) from error
            self._config_maps[name] = found.data
        return self._config_maps[name]

    async def _secret(self, name: str, *, is_optional: bool) -> Mapping[str, str] | None:
        if name not in self._secrets:
            try:
                found = await self._surroundings.objects.secret(Key(self._pod.namespace, name))
            except ApiError as error:
                if isinstance(error, NotFound) and is_optional:
                    return None
                raise Misconfigured(str(error)) from error
            self._secrets[name] = {
                key: value.reveal().decode(errors="replace") for key, value in found.data.items()
            }
        return self._secrets[name]
