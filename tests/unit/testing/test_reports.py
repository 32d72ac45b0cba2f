"""Objects and events as text."""

from mooring.testing.reports import report_namespace, report_object

CLAIM = {
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "data", "managedFields": [{"manager": "x"}]},
    "status": {"phase": "Pending"},
}
EVENT = {
    "type": "Warning",
    "reason": "ProvisioningFailed",
    "message": "no room",
    "involvedObject": {"kind": "PersistentVolumeClaim", "name": "data"},
}


def test_an_object_is_shown_with_its_events_and_without_noise() -> None:
    shown = report_object(CLAIM, [EVENT])
    assert "managedFields" not in shown
    assert "  phase: Pending" in shown
    assert "Warning ProvisioningFailed PersistentVolumeClaim/data: no room" in shown


def test_secrets_are_never_shown() -> None:
    secret = {"kind": "Secret", "metadata": {"name": "s"}, "data": {"password": "c2VjcmV0"}}
    assert "c2VjcmV0" not in report_object(secret, [])
    assert "c2VjcmV0" not in report_namespace("n", [secret], [])


def test_a_long_object_is_cut() -> None:
    long = {
        "kind": "ConfigMap",
        "metadata": {"name": "c"},
        "data": {str(n): "x" for n in range(99)},
    }
    assert "more lines" in report_object(long, [])


def test_a_namespace_is_a_line_per_object_and_its_events() -> None:
    pod = {
        "kind": "Pod",
        "metadata": {"name": "web", "deletionTimestamp": "2030-01-01T00:00:00Z"},
        "status": {
            "phase": "Pending",
            "conditions": [{"type": "PodScheduled", "status": "False", "message": "0/1 nodes"}],
        },
    }
    assert report_namespace("n", [CLAIM, pod], [EVENT]).splitlines() == [
        "objects of the namespace n:",
        "  PersistentVolumeClaim/data  Pending",
        "  Pod/web  Pending  PodScheduled=False (0/1 nodes)  is being deleted",
        "events:",
        "  Warning ProvisioningFailed PersistentVolumeClaim/data: no room",
    ]


def test_an_empty_namespace_says_so() -> None:
    assert report_namespace("n", [], []).count("none") == 2
