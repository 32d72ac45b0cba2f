import pytest

from mooring.apiserver.kinds.pod.pod import POD
from mooring.model.document import Doc
from tests.unit.apiserver.kinds.pods import a_container, complaints
from tests.unit.apiserver.kinds.writing import NO_KEY, NO_LABEL, NO_SUBDOMAIN, create

ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
RULES: dict[str, tuple[Doc, list[str]]] = {
    "a small pod is fine": ({}, []),
    "restarted in a known way": (
        {"restartPolicy": "Sometimes"},
        [
            'spec.restartPolicy: Unsupported value: "Sometimes": '
            'supported values: "Always", "OnFailure", "Never"'
        ],
    ),
    "resolving names in a known way": (
        {"dnsPolicy": "Guess"},
        [
            'spec.dnsPolicy: Unsupported value: "Guess": supported values: '
            '"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"'
        ],
    ),
    "pushing others aside in a known way": (
        {"preemptionPolicy": "Shove"},
        [
            'spec.preemptionPolicy: Unsupported value: "Shove": '
            'supported values: "PreemptLowerPriority", "Never"'
        ],
    ),
    "on a named system": ({"os": {}}, ["spec.os.name: Required value"]),
    "a known one": (
        {"os": {"name": "plan9"}},
        ['spec.os: Unsupported value: "plan9": supported values: "linux", "windows"'],
    ),
    "an account with a proper name": (
        {"serviceAccountName": "Not_A_Name"},
        [f'spec.serviceAccountName: Invalid value: "Not_A_Name": {NO_SUBDOMAIN}'],
    ),
    "a proper hostname": (
        {"hostname": "Not_A_Name", "subdomain": "Not_A_Name"},
        [
            f'spec.hostname: Invalid value: "Not_A_Name": {NO_LABEL}',
            f'spec.subdomain: Invalid value: "Not_A_Name": {NO_LABEL}',
        ],
    ),
    "proper names of classes": (
        {"priorityClassName": "Not_A_Name", "runtimeClassName": "Not_A_Name"},
        [
            f'spec.priorityClassName: Invalid value: "Not_A_Name": {NO_SUBDOMAIN}',
            f'spec.runtimeClassName: Invalid value: "Not_A_Name": {NO_SUBDOMAIN}',
        ],
    ),
    "a deadline in the future": (
        {"activeDeadlineSeconds": 0},
        [
            "spec.activeDeadlineSeconds: Invalid value: 0: "
            "must be between 1 and 2147483647, inclusive"
        ],
    ),
    "gates that name a condition": (
        {"readinessGates": [{"conditionType": "not a key"}]},
        [f'spec.readinessGates[0].conditionType: Invalid value: "not a key": {NO_KEY}'],
    ),
    "names without a service are configured": (
        {"dnsPolicy": "None"},
        ["spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"],
    ),
    "with a server": (
        {"dnsPolicy": "None", "dnsConfig": {"searches": ["a"]}},
        [
            "spec.dnsConfig.nameservers: Required value: "
            "must provide at least one DNS nameserver when `dnsPolicy` is None"
        ],
    ),
    "or three": (
        {"dnsConfig": {"nameservers": ["10.0.0.1", "10.0.0.2", "10.0.0.3", "fd00::1"]}},
        [
            'spec.dnsConfig.nameservers: Invalid value: ["10.0.0.1","10.0.0.2","10.0.0.3",'
            '"fd00::1"]: must not have more than 3 nameservers'
        ],
    ),
    "by address": (
        {"dnsConfig": {"nameservers": ["dns"]}},
        [f'spec.dnsConfig.nameservers[0]: Invalid value: "dns": {ADDRESS}'],
    ),
    "aliases of hosts": (
        {"hostAliases": [{"ip": "10.0.0.1", "hostnames": ["a.example"]}]},
        [],
    ),
    "by address and name": (
        {"hostAliases": [{"ip": "nine", "hostnames": ["Not_A_Name"]}]},
        [
            f'spec.hostAliases[0].ip: Invalid value: "nine": {ADDRESS}',
            f'spec.hostAliases[0].hostnames[0]: Invalid value: "Not_A_Name": {NO_SUBDOMAIN}',
        ],
    ),
    "resources of the pod as a whole": (
        {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}},
        [
            'spec.resources.requests: Invalid value: "2": '
            "must be less than or equal to cpu limit of 1"
        ],
    ),
}


@pytest.mark.parametrize(("spec", "expected"), RULES.values(), ids=RULES)
def test_rules(spec: Doc, expected: list[str]) -> None:
    assert complaints(**spec) == expected


def test_a_pod_of_nothing() -> None:
    assert create(POD, {"metadata": {"name": "web", "namespace": "default"}}) == [
        "spec.containers: Required value"
    ]


def test_complaints_come_from_all_parts_at_once() -> None:
    given = complaints(a_container(image=""), volumes=[{"name": ""}], restartPolicy="x")
    assert [text.partition(":")[0] for text in given] == [
        "spec.volumes[0].name",
        "spec.containers[0].image",
        "spec.restartPolicy",
    ]


def test_a_stored_pod_with_negative_grace_is_refused() -> None:
    pod = {"spec": {"terminationGracePeriodSeconds": -1, "containers": []}}
    fields = [error.field for error in POD.validate(pod)]
    assert "spec.terminationGracePeriodSeconds" in fields
