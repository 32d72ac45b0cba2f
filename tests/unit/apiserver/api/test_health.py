import logging

import pytest

from mooring.apiserver.api.health import NOT_FOUND, Health

WELL = Health(live={"store": lambda: None}, ready={"kinds": lambda: None})
STARTING = Health(live={"store": lambda: None}, ready={"kinds": lambda: "still loading"})
ILL = Health(live={"store": lambda: "disk full"}, ready={"kinds": lambda: None})

ANSWERS: dict[str, tuple[Health, str, dict[str, list[str]], tuple[int, str]]] = {
    "well": (WELL, "/healthz", {}, (200, "ok")),
    "well and ready": (WELL, "/readyz", {}, (200, "ok")),
    "a trailing slash changes nothing": (WELL, "/readyz/", {}, (200, "ok")),
    "verbose lists the checks": (
        WELL,
        "/readyz",
        {"verbose": [""]},
        (200, "[+]ping ok\n[+]store ok\n[+]kinds ok\nreadyz check passed\n"),
    ),
    "alive does not ask whether it is ready": (
        STARTING,
        "/livez",
        {"verbose": [""]},
        (200, "[+]ping ok\n[+]store ok\nlivez check passed\n"),
    ),
    "not ready is verbose unasked and keeps the reason to itself": (
        STARTING,
        "/readyz",
        {},
        (500, "[+]ping ok\n[+]store ok\n[-]kinds failed: reason withheld\nreadyz check failed\n"),
    ),
    "not alive is not ready": (
        ILL,
        "/readyz",
        {},
        (500, "[+]ping ok\n[-]store failed: reason withheld\n[+]kinds ok\nreadyz check failed\n"),
    ),
    "an excluded check is not asked": (STARTING, "/readyz", {"exclude": ["kinds"]}, (200, "ok")),
    "an excluded check is told": (
        STARTING,
        "/readyz",
        {"exclude": ["kinds"], "verbose": [""]},
        (200, "[+]ping ok\n[+]store ok\n[+]kinds excluded: ok\nreadyz check passed\n"),
    ),
    "excluding what is not there is told": (
        WELL,
        "/livez",
        {"exclude": ["tea", "cake"], "verbose": [""]},
        (
            200,
            "[+]ping ok\n[+]store ok\nwarn: some health checks cannot be excluded: "
            'no matches for "cake","tea"\nlivez check passed\n',
        ),
    ),
    "one check": (WELL, "/readyz/kinds", {}, (200, "ok")),
    "one check that fails says why": (
        STARTING,
        "/readyz/kinds",
        {},
        (500, "internal server error: still loading\n"),
    ),
    "a check of another endpoint": (WELL, "/livez/kinds", {}, NOT_FOUND),
    "a check nobody knows": (WELL, "/readyz/tea", {}, NOT_FOUND),
    "an endpoint nobody knows": (WELL, "/happyz", {}, NOT_FOUND),
}


@pytest.mark.parametrize(("health", "path", "query", "answer"), ANSWERS.values(), ids=ANSWERS)
def test_answer(
    health: Health, path: str, query: dict[str, list[str]], answer: tuple[int, str]
) -> None:
    assert health.answer(path, query) == answer


def test_the_reason_of_a_failure_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        ILL.answer("/livez", {})
    assert "disk full" in caplog.text


def test_roles_are_listed_with_what_is_stuck_in_them_and_take_nothing_from_readiness() -> None:
    health = Health(live={}, ready={})
    health.add_role("controllers", lambda: "")
    health.add_role("node", lambda: "stuck: kubernetes.io/local-volume/pv-1")
    assert health.answer("/readyz", {}) == (200, "ok")
    code, text = health.answer("/readyz", {"verbose": [""]})
    assert code == 200
    assert "[+]controllers ok\n" in text
    assert "[+]node ok (stuck: kubernetes.io/local-volume/pv-1)\n" in text
    assert "node" not in health.answer("/livez", {"verbose": [""]})[1]


def test_a_role_that_is_not_ready_makes_the_server_unready_not_ill() -> None:
    is_ready = False
    health = Health(live={}, ready={})
    health.add_role("controllers")
    health.add_role("node", is_ready=lambda: is_ready)
    assert health.answer("/readyz", {}) == (
        500,
        "[+]ping ok\n[+]controllers ok\n[-]node failed: not ready yet\nreadyz check failed\n",
    )
    assert health.answer("/readyz/controllers", {}) == (200, "ok")
    assert health.answer("/readyz/node", {}) == (500, "internal server error: not ready yet\n")
    assert health.answer("/readyz", {"exclude": ["node"]}) == (200, "ok")
    assert health.answer("/livez", {}) == (200, "ok")
    assert health.answer("/livez/node", {})[0] == 404
    is_ready = True
    assert health.answer("/readyz", {}) == (200, "ok")
