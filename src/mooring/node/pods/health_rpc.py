"""The health question of gRPC, `grpc.health.v1.Health/Check`, asked over an unsafe connection."""

_STATES = {0: "UNKNOWN", 1: "SERVING", 2: "NOT_SERVING", 3: "SERVICE_UNKNOWN"}
_SERVING = 1
_NOT_THERE = "this server does not implement the grpc health protocol (grpc.health.v1.Health)"
_SHORTEST_LONG = 0x80  # a length from here on takes a second byte


async def check_health(target: str, service: str) -> str:
    """What is wrong with the server at `target`, or ""."""
    # Only pods with such a probe pay for loading gRPC, which takes longer than all the rest.
    import grpc

    async with grpc.aio.insecure_channel(target) as channel:
        check = channel.unary_unary("/grpc.health.v1.Health/Check")
        try:
            answer = await check(_question(service))
        except grpc.aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.UNIMPLEMENTED:
                return f"{_NOT_THERE}: {error.details()}"
            return f"rpc error: code = {error.code().name} desc = {error.details()}"
    state = _state(answer)
    if state == _SERVING:
        return ""
    return f'service unhealthy (responded with "{_STATES.get(state, str(state))}")'


def _question(service: str) -> bytes:
    """HealthCheckRequest: field 1, a string."""
    name = service.encode()
    if not name:
        return b""
    low, high = len(name) % _SHORTEST_LONG, len(name) // _SHORTEST_LONG
    length = bytes([low | _SHORTEST_LONG, high]) if high else bytes([low])
    return b"\x0a" + length + name


def _state(answer: bytes) -> int:
    """HealthCheckResponse: field 1, a number; missing, it is 0."""
    return answer[1] if answer[:1] == b"\x08" and len(answer) > 1 else 0
