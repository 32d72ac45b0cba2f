"""The subresources of a pod that only its node can serve: log, exec, attach, portforward."""

from collections.abc import Iterator

from mooring.apiserver.admission.contract import AdmissionAttributes, Operation
from mooring.apiserver.auth.attributes import AccessAttributes, AccessCheck
from mooring.apiserver.documents.document import decode
from mooring.apiserver.limits.budgets import HELD_BEHIND
from mooring.apiserver.node_proxy.address import NodeAddress, address_of
from mooring.apiserver.node_proxy.answer import Head, NodeAnswer
from mooring.apiserver.node_proxy.bodies import BodySource, read_refusal
from mooring.apiserver.node_proxy.dial import NoAnswer, Nodes, NotConnected
from mooring.apiserver.node_proxy.options import PATHS, log_path
from mooring.apiserver.node_proxy.proxied import without_tokens
from mooring.apiserver.node_proxy.refusals import log_refusal
from mooring.apiserver.node_proxy.splice import UpgradedStream
from mooring.apiserver.request.message import JSON, Answer, Request, Response, Stream, Upgrade
from mooring.apiserver.request.options import first, flag, parse_query
from mooring.apiserver.request.refusals import not_found, not_found_as
from mooring.apiserver.verbs.backend import Backend, Call, SubresourceVerbs
from mooring.errors import BadRequest, ServerError, ServerTimeout
from mooring.model.document import Doc

LOG_TYPE = "text/plain"
SWITCHING = 101

# Headers passed on to the kubelet. Never credentials: the kubelet knows only the API server.
_PASSED_ON = frozenset({"upgrade", "user-agent", "origin", "x-stream-protocol-version"})
_OPTIONS = {
    "exec": "PodExecOptions",
    "attach": "PodAttachOptions",
    "portforward": "PodPortForwardOptions",
}
_WEBSOCKET = "sec-websocket-"


class PodProxy:
    """Serves them. `check` raises Forbidden."""

    def __init__(self, nodes: Nodes, check: AccessCheck) -> None:
        self._nodes = nodes
        self._check = check
        connect = {"GET": self._connect, "POST": self._connect}
        self.part_verbs: SubresourceVerbs = {
            ("pods", "log"): {"GET": self._log},
            **{("pods", part): connect for part in PATHS},
        }

    async def _log(self, backend: Backend, call: Call) -> Answer:
        pod = _pod(backend, call)
        path = log_path(pod, parse_query(call.request.query))
        if not node_name(pod):
            return Response(204, content_type="")
        node = node_of(backend, pod)
        try:
            head, answer = await self._nodes.ask(node, message("GET", path, node))
        except NotConnected as error:
            raise ServerError(f'Get "https://{node.authority}{path}": {error}') from error
        except NoAnswer as error:
            raise unanswered(error) from error
        if not 200 <= head.status <= 206:
            text = (await read_refusal(answer)).decode("utf-8", "replace")
            return log_refusal(head.status, text, call.name)
        return Stream(BodySource(answer), content_type=LOG_TYPE, behind=HELD_BEHIND)

    async def _connect(self, backend: Backend, call: Call) -> Answer:
        self._check_create(call)
        part, request = call.route.subresource, call.request
        pod = _pod(backend, call)
        path = PATHS[part](pod, parse_query(request.query))
        if not node_name(pod):
            raise BadRequest(f"pod {call.name} does not have a host assigned")
        node = node_of(backend, pod)
        if not asks_for_upgrade(request):
            raise BadRequest("Upgrade request required")
        await backend.webhooks.judge(_connection(call))
        try:
            head, answer = await self._nodes.ask(node, _upgrademessage(request, path, node))
        except NotConnected as error:
            raise ServerError(f"error dialing backend: {error}") from error
        except NoAnswer as error:
            raise unanswered(error) from error
        return await _upgraded(head, answer)

    def _check_create(self, call: Call) -> None:
        """A client inside a container may do as it pleases: reading rights are not enough."""
        if call.request.method == "POST":
            return
        route = call.route
        self._check(
            call.user,
            AccessAttributes(
                "create",
                group=route.group,
                version=route.version,
                resource=route.plural,
                subresource=route.subresource,
                namespace=route.namespace,
                name=route.name,
            ),
        )


def _connection(call: Call) -> AdmissionAttributes:
    """What webhooks are told of it: the options, in the words of the API."""
    part, query = call.route.subresource, parse_query(call.request.query)
    options: Doc = {"kind": _OPTIONS[part], "apiVersion": "v1"}
    for field in ("stdin", "stdout", "stderr", "tty"):
        if field in query:
            options[field] = flag(query, field)
    if container := first(query, "container"):
        options["container"] = container
    if "command" in query:
        options["command"] = list(query["command"])
    return AdmissionAttributes(
        Operation.CONNECT, call.kind, call.user, call.namespace, call.name, part, options
    )


async def _upgraded(head: Head, answer: NodeAnswer) -> Answer:
    if head.status == SWITCHING:
        return Upgrade(UpgradedStream(answer), head.raw, behind=HELD_BEHIND)
    body = await read_refusal(answer)
    if head.status < 400:
        raise ServerError(f"invalid upgrade response: status code {head.status}")
    return Response(head.status, body, content_type=head.headers.get("content-type", JSON))


def _pod(backend: Backend, call: Call) -> Doc:
    entry = backend.store.get(call.kind.store_table, call.store_name)
    if entry is None:
        raise not_found(call.kind, call.name)
    return decode(call.kind, entry)


def node_name(pod: Doc) -> str:
    return str(pod["spec"].get("nodeName", ""))


def node_of(backend: Backend, pod: Doc) -> NodeAddress:
    name = node_name(pod)
    node = backend.objects.find("nodes", "", name)
    if node is None:
        raise not_found_as("", "nodes", name)
    return address_of(node)


def unanswered(error: NoAnswer) -> ServerError | ServerTimeout:
    text = f"error reading from backend: {error}"
    return ServerError(text) if error.in_time else ServerTimeout(text)


def asks_for_upgrade(request: Request) -> bool:
    connection = (request.header("connection") or "").lower().replace("\n", ",")
    return bool(request.header("upgrade")) and any(
        word.strip() == "upgrade" for word in connection.split(",")
    )


def message(method: str, path: str, node: NodeAddress, further: str = "") -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: {node.authority}\r\n{further}\r\n"
    return head.encode("latin-1", "replace")


def _upgrademessage(request: Request, path: str, node: NodeAddress) -> bytes:
    lines = [f"{name}: {value}\r\n" for name, value in _passed_on(request)]
    if request.method == "POST":
        lines.append("Content-Length: 0\r\n")
    return message(request.method, path, node, f"Connection: Upgrade\r\n{''.join(lines)}")


def _passed_on(request: Request) -> Iterator[tuple[str, str]]:
    for name, joined in request.headers.items():
        if name not in _PASSED_ON and not name.startswith(_WEBSOCKET):
            continue
        for value in joined.split("\n"):
            is_list = name == "sec-websocket-protocol"
            yield name, without_tokens(value) if is_list else value
