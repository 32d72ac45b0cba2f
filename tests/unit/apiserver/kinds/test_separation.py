from mooring.apiserver.kinds.contract import Context
from mooring.apiserver.kinds.separation import keep_all_but_status, keep_status
from mooring.model.document import Doc

NOW = Context(now="2026-01-02T03:04:05Z")


def test_on_the_main_path_status_stays() -> None:
    new: Doc = {"spec": 2, "status": 2}
    keep_status(new, {"spec": 1, "status": 1}, NOW)
    assert new == {"spec": 2, "status": 1}


def test_a_status_that_never_was_does_not_appear() -> None:
    new: Doc = {"spec": 2, "status": 2}
    keep_status(new, {"spec": 1}, NOW)
    assert new == {"spec": 2}


def test_on_the_status_path_all_else_stays_but_metadata() -> None:
    new: Doc = {"kind": "K", "metadata": 2, "spec": 2, "added": 2, "status": 2}
    keep_all_but_status(new, {"kind": "K", "metadata": 1, "spec": 1, "gone": 1, "status": 1}, NOW)
    assert new == {"kind": "K", "metadata": 2, "spec": 1, "gone": 1, "status": 2}
