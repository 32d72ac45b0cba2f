from typing import Any

import pytest

from mooring.apiserver.kinds.cron_job import CRON_JOB
from mooring.apiserver.kinds.job import JOB
from mooring.model.document import Doc
from tests.fakes.objects import a_cron_job, a_job
from tests.unit.apiserver.kinds.writing import create, created, printed, update, update_status


def with_uid(doc: Doc) -> Doc:
    doc["metadata"]["uid"] = "u1"
    return doc


POD = {"containers": [{"name": "main", "image": "busybox:1"}]}
POLICY = {"rules": [{"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1]}}]}

CREATED: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a job is fine": ({}, []),
    "an indexed one": ({"completionMode": "Indexed", "completions": 2}, []),
    "pods that are restarted for ever": (
        {"template": {"spec": POD}},
        [
            'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
        ],
    ),
    "a policy for failures, and restarts": (
        {"template": {"spec": POD | {"restartPolicy": "OnFailure"}}, "podFailurePolicy": POLICY},
        [
            'spec.template.spec.restartPolicy: Invalid value: "OnFailure": only "Never" is '
            "supported when podFailurePolicy is specified"
        ],
    ),
    "indexed, nobody knows how many": (
        {"completionMode": "Indexed", "parallelism": 1},
        ["spec.completions: Required value: when completion mode is Indexed"],
    ),
    "less than none": (
        {"parallelism": -1},
        ["spec.parallelism: Invalid value: -1: must be greater than or equal to 0"],
    ),
    "a limit per index without indexes": (
        {"backoffLimitPerIndex": 1},
        ["spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode"],
    ),
    "a selector that somebody chose": (
        {"selector": {"matchLabels": {"a": "b"}}},
        [
            'spec.selector: Invalid value: {"matchLabels":{"a":"b",'
            '"batch.kubernetes.io/controller-uid":"u1"}}: `selector` not auto-generated',
            'spec.template.metadata.labels: Invalid value: {"batch.kubernetes.io/job-name":"once",'
            '"job-name":"once","batch.kubernetes.io/controller-uid":"u1","controller-uid":"u1"}: '
            "`selector` does not match template `labels`",
        ],
    ),
    "exit codes in disorder": (
        {
            "podFailurePolicy": {
                "rules": [{"action": "Ignore", "onExitCodes": {"operator": "In", "values": [3, 2]}}]
            }
        },
        [
            "spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [3,2]: "
            "must be ordered"
        ],
    ),
}


@pytest.mark.parametrize(("spec", "errors"), CREATED.values(), ids=CREATED)
def test_creating_a_job(spec: dict[str, Any], errors: list[str]) -> None:
    assert create(JOB, with_uid(a_job(**spec))) == errors


def test_what_a_job_gets_unsaid() -> None:
    spec = created(JOB, with_uid(a_job()))["spec"]
    assert {key: value for key, value in spec.items() if key not in ("template", "selector")} == {
        "completions": 1,
        "parallelism": 1,
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "manualSelector": False,
        "podReplacementPolicy": "TerminatingOrFailed",
    }
    assert spec["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": "u1"}}
    spec = created(JOB, with_uid(a_job(podFailurePolicy=POLICY)))["spec"]
    assert spec["podReplacementPolicy"] == "Failed"


UPDATED: dict[str, tuple[Doc, list[str]]] = {
    "parallelism": ({"parallelism": 3}, []),
    "suspend": ({"suspend": True}, []),
    "completions": ({"completions": 3}, ["spec.completions: Invalid value: 3: field is immutable"]),
    "the mode": (
        {"completionMode": "Indexed"},
        ['spec.completionMode: Invalid value: "Indexed": field is immutable'],
    ),
}


@pytest.mark.parametrize(("spec", "errors"), UPDATED.values(), ids=UPDATED)
def test_changing_a_job(spec: Doc, errors: list[str]) -> None:
    assert update(JOB, created(JOB, with_uid(a_job())), {"spec": spec}) == errors


def test_where_pods_go_may_change_before_the_job_has_begun() -> None:
    change = {"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}}
    waiting = created(JOB, with_uid(a_job(suspend=True)))
    assert update(JOB, waiting, change) == []
    (error,) = update(JOB, created(JOB, with_uid(a_job())), change)
    assert error.startswith("spec.template: Invalid value: ")


def condition(kind: str) -> Doc:
    return {"type": kind, "status": "True"}


STATUS: dict[str, tuple[Doc, str]] = {
    "complete out of the blue": (
        {
            "conditions": [condition("Complete")],
            "startTime": "2026-01-01T00:00:00Z",
            "completionTime": "2026-01-01T00:00:00Z",
        },
        "status.conditions: Invalid value: cannot set Complete=True condition without the "
        "SuccessCriteriaMet=true condition",
    ),
    "finished and active": (
        {
            "conditions": [condition("FailureTarget"), condition("Failed")],
            "startTime": "2026-01-01T00:00:00Z",
            "active": 1,
        },
        "status.active: Invalid value: 1: active>0 is invalid for finished job",
    ),
    "more ready than there are": (
        {"ready": 1},
        "status.ready: Invalid value: 1: cannot set more ready pods than active",
    ),
    "less than none, and nothing said of those that are ready": (
        {"active": -1},
        "status.active: Invalid value: -1: must be greater than or equal to 0",
    ),
}


@pytest.mark.parametrize(("status", "error"), STATUS.values(), ids=STATUS)
def test_a_status_that_cannot_be(status: Doc, error: str) -> None:
    assert update_status(JOB, created(JOB, with_uid(a_job())), {"status": status}) == [error]


def test_how_a_job_is_shown() -> None:
    doc = created(JOB, with_uid(a_job(parallelism=2)))
    doc["status"] = {
        "succeeded": 1,
        "startTime": "2026-01-02T03:03:05Z",
        "completionTime": "2026-01-02T03:03:45Z",
        "conditions": [condition("Complete")],
    }
    row = printed(JOB, doc)
    assert (row["Status"], row["Completions"], row["Duration"]) == ("Complete", "1/1 of 2", "40s")


CRON: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a cron job is fine": ({}, []),
    "a time zone": ({"timeZone": "Europe/Berlin"}, []),
    "no schedule": ({"schedule": ""}, ["spec.schedule: Required value"]),
    "a schedule of four fields": (
        {"schedule": "* * * *"},
        ['spec.schedule: Invalid value: "* * * *": expected exactly 5 fields, found 4: [* * * *]'],
    ),
    "a zone in the schedule": (
        {"schedule": "TZ=UTC * * * * *"},
        [
            'spec.schedule: Invalid value: "TZ=UTC * * * * *": cannot use TZ or CRON_TZ in '
            "schedule, use timeZone field instead"
        ],
    ),
    "a zone that nobody knows": (
        {"timeZone": "Mars/Base"},
        ['spec.timeZone: Invalid value: "Mars/Base": unknown time zone Mars/Base'],
    ),
    "the zone of this machine": (
        {"timeZone": "Local"},
        [
            'spec.timeZone: Invalid value: "Local": timeZone must be an explicit time zone as '
            "defined in https://www.iana.org/time-zones"
        ],
    ),
    "a policy that nobody knows": (
        {"concurrencyPolicy": "Maybe"},
        [
            'spec.concurrencyPolicy: Unsupported value: "Maybe": supported values: "Allow", '
            '"Forbid", "Replace"'
        ],
    ),
}


@pytest.mark.parametrize(("spec", "errors"), CRON.values(), ids=CRON)
def test_creating_a_cron_job(spec: dict[str, Any], errors: list[str]) -> None:
    assert create(CRON_JOB, a_cron_job(**spec)) == errors


def test_the_name_of_a_cron_job_leaves_room_for_those_of_its_jobs() -> None:
    name = "x" * 53
    assert create(CRON_JOB, a_cron_job(name)) == [
        f'metadata.name: Invalid value: "{name}": must be no more than 52 characters'
    ]
