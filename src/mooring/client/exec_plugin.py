"""Credentials from a program: exec plugins of client.authentication.k8s.io, v1 and v1beta1.

The program prints an `ExecCredential` with a token, a client certificate and key, or both. It is
run for the first request, when its credential has expired, and when the server refuses it.
"""

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

import msgspec

from mooring.client.credentials import Proof
from mooring.clock import Clock
from mooring.errors import UsageError
from mooring.model.secret_value import SecretValue
from mooring.processes import Program, run_async

GROUP = "client.authentication.k8s.io"
VERSIONS = (f"{GROUP}/v1", f"{GROUP}/v1beta1")
EXEC_INFO = "KUBERNETES_EXEC_INFO"
LONGEST_RUN = 60.0  # seconds
MOST_PRINTED = 1 << 20  # bytes; a credential is a few thousand
MOST_SHOWN = 200  # characters of a failed plugin's error output

_NEVER, _IF_AVAILABLE, _ALWAYS = "Never", "IfAvailable", "Always"


class EnvironmentVariable(msgspec.Struct, frozen=True):
    name: str
    value: SecretValue


class Plugin(msgspec.Struct, frozen=True, rename="camel"):
    """`exec` of a kubeconfig's user."""

    command: str
    api_version: str = ""
    args: list[str] | None = None
    env: list[EnvironmentVariable] | None = None
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""

    def check(self) -> None:
        """Raises: UsageError when it cannot be run by a program without a terminal."""
        if self.api_version not in VERSIONS:
            raise UsageError(
                f"the exec plugin {self.command} has apiVersion {self.api_version!r}; "
                f"set it to {VERSIONS[0]}"
            )
        default = "" if self.api_version == VERSIONS[0] else _IF_AVAILABLE
        mode = self.interactive_mode or default
        if mode == _ALWAYS:
            raise UsageError(
                f"the exec plugin {self.command} wants a terminal (interactiveMode Always); "
                "use one that does not"
            )
        if mode not in (_NEVER, _IF_AVAILABLE):
            raise UsageError(
                f"the exec plugin {self.command} has interactiveMode {mode!r}; "
                f"set it to {_IF_AVAILABLE}"
            )


class _Given(msgspec.Struct, frozen=True, rename="camel"):
    token: SecretValue | None = None
    client_certificate_data: str = ""
    client_key_data: SecretValue | None = None
    expiration_timestamp: Annotated[datetime, msgspec.Meta(tz=True)] | None = None


class _Answer(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str = ""
    kind: str = ""
    status: _Given | None = None


def read_secret(wanted: type, value: object) -> Any:
    """A decoding hook of msgspec that turns a text into a `SecretValue`."""
    if wanted is SecretValue and isinstance(value, str):
        return SecretValue(value.encode())
    raise TypeError("expected a text")


_answers = msgspec.json.Decoder(_Answer, dec_hook=read_secret)


class FromPlugin:
    """Proofs from a plugin, each kept until it expires or is refused."""

    def __init__(
        self,
        plugin: Plugin,
        cluster: Mapping[str, object],
        environment: Mapping[str, str],
        clock: Clock,
    ) -> None:
        self._plugin = plugin
        self._cluster = cluster
        self._environment = environment
        self._clock = clock
        self._one_at_a_time = asyncio.Lock()
        self._proof: Proof | None = None
        self._until: datetime | None = None

    async def proof(self) -> Proof:
        async with self._one_at_a_time:
            if self._proof is None or self._is_expired():
                given = self._understood(await self._run())
                self._until = given.expiration_timestamp
                self._proof = Proof(
                    given.token, given.client_certificate_data.encode(), given.client_key_data
                )
            return self._proof

    def has_better(self, refused: Proof) -> bool:
        if self._proof == refused:
            self._proof = None
        return True

    def _is_expired(self) -> bool:
        return self._until is not None and self._clock.now() >= self._until

    async def _run(self) -> bytes:
        """The output of the plugin. After: it and its children have ended."""
        plugin = self._plugin
        program = Program(
            [plugin.command, *(plugin.args or ())],
            keep=MOST_PRINTED,
            seconds=LONGEST_RUN,
            most=MOST_PRINTED,
            env=self._given_environment(),
            is_apart=True,
        )
        try:
            ended = await run_async(program)
        except FileNotFoundError as error:
            raise self._failed(f"is not there; {self._hint()}") from error
        except OSError as error:
            raise self._failed(f"cannot be run: {error.strerror}") from error
        except ValueError:
            raise self._failed("cannot be run: a NUL is in its words or its environment") from None
        if ended.is_cut:
            raise self._failed(f"printed more than {MOST_PRINTED} bytes")
        if ended.is_late:
            raise self._failed(f"did not end in {LONGEST_RUN:.0f} seconds")
        if ended.code:
            raise self._failed(f"ended with {ended.code}: {_last_line(ended.complaints)}")
        return ended.output

    def _given_environment(self) -> dict[str, str]:
        plugin = self._plugin
        spec: dict[str, object] = {"interactive": False}
        if plugin.provide_cluster_info:
            spec["cluster"] = self._cluster
        info = {"kind": "ExecCredential", "apiVersion": plugin.api_version, "spec": spec}
        own = {each.name: each.value.reveal().decode() for each in plugin.env or ()}
        return {**self._environment, **own, EXEC_INFO: msgspec.json.encode(info).decode()}

    def _understood(self, printed: bytes) -> _Given:
        try:
            answer = _answers.decode(printed)
        except (ValueError, RecursionError) as error:
            # The cause is left out: the output holds secrets.
            raise self._failed(f"printed no ExecCredential ({type(error).__name__})") from None
        if answer.kind != "ExecCredential" or answer.api_version != self._plugin.api_version:
            raise self._failed(
                f"printed {answer.kind} of {answer.api_version}, "
                f"not ExecCredential of {self._plugin.api_version}"
            )
        given = answer.status
        if given is None or not (given.token or given.client_certificate_data):
            raise self._failed("printed neither a token nor a certificate")
        if bool(given.client_certificate_data) != bool(given.client_key_data):
            raise self._failed("printed a certificate or a key, not both")
        return given

    def _hint(self) -> str:
        """The plugin's installHint, on one line and without control characters."""
        words = " ".join(self._plugin.install_hint.split())
        return "".join(filter(str.isprintable, words)) or "install it, or correct `command`"

    def _failed(self, why: str) -> UsageError:
        return UsageError(f"the exec plugin {self._plugin.command} {why}")


def _last_line(complaints: bytes) -> str:
    lines = complaints.decode(errors="replace").split("\n")
    said = [line.strip() for line in lines if line.strip()]
    return "".join(filter(str.isprintable, said[-1]))[:MOST_SHOWN] if said else "it said nothing"
