"""What is said of kinds that are not served."""

from mooring.apiserver.api.absent_kinds import _INSTEAD, find_advice
from mooring.apiserver.kinds.registry import builtin
from mooring.apiserver.request.routes import Route


def test_no_kind_is_called_absent_that_is_served() -> None:
    served = {(kind.group, kind.plural) for kind in builtin().all()}
    absent = {(group, plural) for group, advice in _INSTEAD.items() for plural in advice}
    assert not served & absent


def test_it_is_a_404_that_says_what_to_do_in_one_line() -> None:
    refusal = find_advice(Route("autoscaling", "v2", "default", "horizontalpodautoscalers"))
    assert refusal is not None
    assert refusal.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "Mooring does not serve horizontalpodautoscalers.autoscaling: "
        "use `kubectl scale`",
        "reason": "NotFound",
        "details": {"group": "autoscaling", "kind": "horizontalpodautoscalers"},
        "code": 404,
    }


def test_other_api_servers_are_not_asked() -> None:
    refusal = find_advice(Route("apiregistration.k8s.io", "v1", "", "apiservices"))
    assert refusal is not None
    assert refusal.message == (
        "Mooring does not serve apiservices.apiregistration.k8s.io: no other API server is asked; "
        "kinds of your own have a CustomResourceDefinition"
    )


def test_of_kinds_that_nobody_knows_nothing_is_said() -> None:
    assert find_advice(Route("apps", "v1", "default", "things")) is None
    assert find_advice(Route("example.com", "v1", "default", "horizontalpodautoscalers")) is None
