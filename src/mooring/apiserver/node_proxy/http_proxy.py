"""`pods/proxy` and `nodes/proxy`: HTTP to a pod's port or to a node's own pages.

The connection to a pod goes through its node, which knows the pod and reaches its ports.
"""

import ssl
from collections.abc import Mapping

from mooring.apiserver.documents.document import decode
from mooring.apiserver.documents.objects import store_name
from mooring.apiserver.limits.budgets import HELD_BEHIND
from mooring.apiserver.node_proxy.address import NodeAddress, address_of
from mooring.apiserver.node_proxy.answer import Head, NodeAnswer
from mooring.apiserver.node_proxy.bodies import BodySource, read_refusal
from mooring.apiserver.node_proxy.dial import NoAnswer, Nodes, NotConnected
from mooring.apiserver.node_proxy.pods import (
    SWITCHING,
    asks_for_upgrade,
    message,
    node_name,
    node_of,
)
from mooring.apiserver.node_proxy.proxied import (
    ProxyPath,
    path_of,
    port_of,
    request_head,
    request_headers,
    response_headers,
    target_of,
)
from mooring.apiserver.node_proxy.splice import UpgradedStream
from mooring.apiserver.request.message import Answer, Joined, Request, Response, Stream, Upgrade
from mooring.apiserver.request.refusals import method_not_allowed, not_found
from mooring.apiserver.verbs.backend import Backend, Call, SubresourceVerbs, Verb
from mooring.apiserver.verbs.decoding import check_size
from mooring.errors import BadRequest, ServerTimeout, Unavailable
from mooring.model.document import Doc

_METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
_READING = ("GET", "HEAD")
_NO_BODY = frozenset({204, 304})
_UNREACHABLE = "error trying to reach service: "


class HttpProxy:
    """Serves them; what a client sends is passed on whole, what comes back as it comes."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._pod_tls = _trusting()
        self.part_verbs: SubresourceVerbs = {
            ("pods", "proxy"): _for_all(self._to_pod),
            ("nodes", "proxy"): _for_all(self._to_node),
            ("services", "proxy"): _for_all(_refuse_service),
        }

    async def _to_pod(self, backend: Backend, call: Call) -> Answer:
        request, where = call.request, path_of(call.request.path)
        check_size(call)
        target = target_of("pod", call.name)
        pod = _find(backend, call, target.name)
        is_upgrade = asks_for_upgrade(request)
        if not where.path and request.method in _READING and not is_upgrade:
            return _with_slash(request)
        if not node_name(pod):
            raise BadRequest(f"pod {target.name} does not have a host assigned")
        port = port_of(target, pod)
        sent = _passed_on(request, where, upgrade=is_upgrade)
        tunnel = await self._tunnel(backend, pod, port)
        tls = self._pod_tls if target.scheme == "https" else None
        try:
            head, answer = await self._nodes.ask_pod(tunnel, sent, tls)
        except NoAnswer as error:
            raise _unreachable(error) from error
        if head.status == SWITCHING and is_upgrade:
            return Upgrade(UpgradedStream(answer), head.raw, behind=HELD_BEHIND)
        _check_switched(head, answer)
        hosts = _hosts(pod, port) | {request.headers.get("host", "").lower()}
        return await _passed_back(request, head, answer, where, frozenset(hosts))

    async def _tunnel(self, backend: Backend, pod: Doc, port: int) -> NodeAnswer:
        """A connection to a port of the pod, through its node."""
        node, metadata = node_of(backend, pod), pod["metadata"]
        path = f"/podTunnel/{metadata['namespace']}/{metadata['name']}?port={port}"
        asked = message("GET", path, node, "Connection: Upgrade\r\nUpgrade: tcp\r\n")
        try:
            head, answer = await self._nodes.ask(node, asked)
        except (NotConnected, NoAnswer) as error:
            raise _unreachable(error) from error
        if head.status == SWITCHING:
            return answer
        why = (await read_refusal(answer)).decode("utf-8", "replace")
        raise Unavailable(f"{_UNREACHABLE}{why}")

    async def _to_node(self, backend: Backend, call: Call) -> Answer:
        request, where = call.request, path_of(call.request.path)
        target = target_of("node", call.name)
        node = _address(_find(backend, call, target.name), target.port)
        if request.method not in _READING or asks_for_upgrade(request):
            raise method_not_allowed()  # whoever may exec into pods is asked at the pods
        if not where.path:
            return _with_slash(request)
        sent = _passed_on(request, where, upgrade=False)
        try:
            head, answer = await self._nodes.ask(node, sent)
        except (NotConnected, NoAnswer) as error:
            raise _unreachable(error) from error
        _check_switched(head, answer)
        hosts = {node.authority, request.headers.get("host", "").lower()}
        return await _passed_back(request, head, answer, where, frozenset(hosts))


async def _refuse_service(_: Backend, call: Call) -> Answer:
    namespace = call.route.namespace
    raise Unavailable(
        "services are not proxied: ask a pod, by "
        f"/api/v1/namespaces/{namespace}/pods/NAME:PORT/proxy/"
    )


def _for_all(verb: Verb) -> Mapping[str, Verb]:
    return dict.fromkeys(_METHODS, verb)


def _trusting() -> ssl.SSLContext:
    """Whatever certificate a pod has will do, as upstream: nobody vouches for it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _find(backend: Backend, call: Call, name: str) -> Doc:
    where = store_name(call.kind, call.route.namespace, name)
    entry = backend.store.get(call.kind.store_table, where)
    if entry is None:
        raise not_found(call.kind, name)
    return decode(call.kind, entry)


def _address(node: Doc, port: int) -> NodeAddress:
    address = address_of(node)
    if port not in (0, address.port):
        raise BadRequest(f"node {address.name} is proxied at port {address.port} only")
    return address


def _passed_on(request: Request, where: ProxyPath, *, upgrade: bool) -> bytes:
    """The request that a pod or node gets, its body included."""
    host = request.headers.get("host", "")
    headers = [
        ("Host", host),
        *request_headers(request.headers, upgrade=upgrade),
        ("X-Forwarded-Uri", f"{where.prefix}{where.path}"),
        ("X-Forwarded-Host", host),
    ]
    has_body = bool(request.body) or request.method in ("POST", "PUT", "PATCH")
    length = len(request.body) if has_body else None
    head = request_head(request.method, where.path, request.query, headers, length)
    return head + request.body


def _check_switched(head: Head, answer: NodeAnswer) -> None:
    """Another protocol that nobody asked for is no answer. Raises: Unavailable."""
    if head.status == SWITCHING:
        answer.close()
        raise Unavailable(f"{_UNREACHABLE}it switched protocols without being asked")


async def _passed_back(
    request: Request, head: Head, answer: NodeAnswer, where: ProxyPath, hosts: frozenset[str]
) -> Answer:
    headers = tuple(response_headers(head.pairs, where, hosts))
    content_type = head.headers.get("content-type", "")
    if request.method != "HEAD" and head.status not in _NO_BODY:
        return Stream(BodySource(answer), head.status, content_type, headers, HELD_BEHIND)
    answer.close()
    body = Joined(())
    length = head.headers.get("content-length", "")
    body.length = int(length) if length.isascii() and length.isdigit() else 0
    return Response(head.status, body, content_type, headers)


def _with_slash(request: Request) -> Response:
    """Links on a page are relative to its directory."""
    query = f"?{request.query}" if request.query else ""
    place = f"{request.path}/{query}"
    return Response(301, content_type="", headers=(("Location", place),))


def _hosts(pod: Doc, port: int) -> set[str]:
    """What a pod's server may call itself in a redirect."""
    names = {"127.0.0.1", "localhost", pod.get("status", {}).get("podIP", "127.0.0.1")}
    return {f"{name}:{port}" for name in names} | (names if port in (80, 443) else set())


def _unreachable(error: NotConnected | NoAnswer) -> Unavailable | ServerTimeout:
    text = f"{_UNREACHABLE}{error}"
    is_late = isinstance(error, NoAnswer) and not error.in_time
    return ServerTimeout(text) if is_late else Unavailable(text)
