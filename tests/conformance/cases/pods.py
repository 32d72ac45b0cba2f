"""Pods: defaults, containers, what may change, binding, status."""

from tests.conformance.asking import Again, Cases, Doc, get, json_patch, merge, post, put, strategic
from tests.conformance.cases.objects import POD, PODS, changed, creates, named, updates

ONE = named(PODS, POD)
MAIN = {"name": "main", "image": "box"}


def _spec(**fields: object) -> Doc:
    return {"spec": fields}


def _container(**fields: object) -> Doc:
    return {"spec": {"containers": [{**MAIN, **fields}]}}


_CONTAINERS: dict[str, Doc] = {
    "without containers": _spec(containers=[]),
    "without a spec": {"spec": None},
    "without a container's name": _container(name=None),
    "with a container of a bad name": _container(name="Bad_Name"),
    "without an image": _container(image=None),
    "with an image with blanks": _container(image=" box "),
    "with a container twice": _spec(containers=[MAIN, MAIN]),
    "with an unknown pull policy": _container(imagePullPolicy="Sometimes"),
    "with a tagged image": _container(image="box:1"),
    "with a digest": _container(image=f"box@sha256:{'a' * 64}"),
    "with ports": _container(
        ports=[{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]
    ),
    "with bad ports": _container(
        ports=[
            {"containerPort": 0},
            {"containerPort": 1, "protocol": "X", "name": "TooLongAName-xx"},
        ]
    ),
    "with environment": _container(
        env=[
            {"name": "A", "value": "b"},
            {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "C", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
            {"name": "D", "valueFrom": {"configMapKeyRef": {"name": "s", "key": "k"}}},
            {"name": "E", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory"}}},
        ]
    ),
    "with bad environment": _container(
        env=[
            {"name": "", "value": "b"},
            {"name": "A=B", "value": "b"},
            {"name": "C", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "D", "valueFrom": {}},
            {"name": "E", "valueFrom": {"secretKeyRef": {"key": ""}}},
            {"name": "F", "valueFrom": {"fieldRef": {"fieldPath": "spec.odd"}}},
        ]
    ),
    "with environment from elsewhere": _container(
        envFrom=[{"configMapRef": {"name": "c"}, "prefix": "P_"}, {"secretRef": {"name": "s"}}]
    ),
    "with bad environment from elsewhere": _container(
        envFrom=[{}, {"configMapRef": {"name": ""}}, {"prefix": "a=b", "secretRef": {"name": "s"}}]
    ),
    "with limits": _container(resources={"limits": {"cpu": "1", "memory": "1Gi"}}),
    "with more requested than allowed": _container(
        resources={"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}
    ),
    "with a negative limit": _container(resources={"limits": {"cpu": "-1"}}),
    "with a limit on what there is not": _container(resources={"limits": {"odd": "1"}}),
    "with a fraction of a device": _container(resources={"limits": {"example.com/gpu": "1.5"}}),
    "with requests": _container(resources={"requests": {"cpu": "100m"}}),
    "with huge pages alone": _container(
        resources={"limits": {"hugepages-2Mi": "4Mi"}, "requests": {"hugepages-2Mi": "4Mi"}}
    ),
    "with probes": _container(
        livenessProbe={"exec": {"command": ["true"]}},
        readinessProbe={"httpGet": {"port": 80}},
        startupProbe={"tcpSocket": {"port": "web"}},
    ),
    "with bad probes": _container(
        livenessProbe={"periodSeconds": -1, "successThreshold": 2, "exec": {"command": []}},
        readinessProbe={"httpGet": {"port": 0, "path": "", "scheme": "FTP"}},
        startupProbe={},
    ),
    "with hooks": _container(
        lifecycle={"postStart": {"exec": {"command": ["a"]}}, "preStop": {"sleep": {"seconds": 5}}}
    ),
    "with bad hooks": _container(
        lifecycle={"postStart": {}, "preStop": {"sleep": {"seconds": -5}}}
    ),
    "with an unknown message policy": _container(terminationMessagePolicy="Never"),
    "with privileges": _container(
        securityContext={
            "privileged": True,
            "runAsUser": 0,
            "capabilities": {"add": ["SYS_ADMIN"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        }
    ),
    "with bad privileges": _container(
        securityContext={
            "runAsUser": -1,
            "procMount": "Odd",
            "privileged": True,
            "allowPrivilegeEscalation": False,
            "seccompProfile": {"type": "Localhost"},
        }
    ),
    "with preparing containers": _spec(
        initContainers=[
            {"name": "first", "image": "box"},
            {"name": "side", "image": "box", "restartPolicy": "Always"},
        ]
    ),
    "with bad preparing containers": _spec(
        initContainers=[
            {"name": "main", "image": "box"},
            {"name": "x", "image": "box", "restartPolicy": "Odd"},
            {"name": "y", "image": "box", "livenessProbe": {"tcpSocket": {"port": 1}}},
        ]
    ),
    "with ephemeral containers": _spec(ephemeralContainers=[{"name": "e", "image": "box"}]),
    "with a resize policy": _container(
        resizePolicy=[{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]
    ),
    "with a container that never restarts": _container(restartPolicy="Never"),
}

_SPECS: dict[str, Doc] = {
    "to restart never": _spec(restartPolicy="Never"),
    "to restart sometimes": _spec(restartPolicy="Sometimes"),
    "with an unknown DNS policy": _spec(dnsPolicy="Odd"),
    "with a DNS of its own": _spec(
        dnsPolicy="None", dnsConfig={"nameservers": ["1.2.3.4"], "searches": ["a.b"]}
    ),
    "with no DNS at all": _spec(dnsPolicy="None"),
    "with a bad grace": _spec(terminationGracePeriodSeconds=-1),
    "with a deadline": _spec(activeDeadlineSeconds=0),
    "on a node": _spec(nodeName="n1"),
    "on a node of a bad name": _spec(nodeName="Bad_Node"),
    "with a selector of nodes": _spec(nodeSelector={"a": "b"}),
    "with a bad selector of nodes": _spec(nodeSelector={"-a": "b c"}),
    "with a host name": _spec(hostname="h", subdomain="s"),
    "with a bad host name": _spec(hostname="H_", subdomain="S_"),
    "with an unknown priority class": _spec(priorityClassName="odd"),
    "with a system priority class": _spec(priorityClassName="system-node-critical"),
    "with a priority of its own": _spec(priority=5),
    "with tolerations": _spec(
        tolerations=[{"key": "a", "operator": "Exists", "effect": "NoSchedule"}]
    ),
    "with bad tolerations": _spec(
        tolerations=[
            {"operator": "Equal"},
            {"key": "a", "operator": "Odd"},
            {"key": "a", "operator": "Exists", "value": "x"},
            {"key": "a", "effect": "Odd"},
            {"key": "a", "tolerationSeconds": 5, "effect": "NoSchedule"},
        ]
    ),
    "with scheduling gates": _spec(schedulingGates=[{"name": "example.com/wait"}]),
    "with bad scheduling gates": _spec(
        schedulingGates=[{"name": "a"}, {"name": "a"}, {"name": "-"}], nodeName="n1"
    ),
    "near other pods": _spec(
        affinity={
            "podAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"labelSelector": {"matchLabels": {"a": "b"}}, "topologyKey": "zone"}
                ]
            },
            "nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "weight": 5,
                        "preference": {
                            "matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]
                        },
                    }
                ]
            },
        }
    ),
    "badly near other pods": _spec(
        affinity={
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": ""}]
            },
            "nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 500, "preference": {}}
                ],
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []},
            },
        }
    ),
    "spread out": _spec(
        topologySpreadConstraints=[
            {
                "maxSkew": 1,
                "topologyKey": "zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"a": "b"}},
            }
        ]
    ),
    "badly spread out": _spec(
        topologySpreadConstraints=[
            {"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "Odd", "minDomains": -1}
        ]
    ),
    "with groups": _spec(
        securityContext={
            "fsGroup": 5,
            "fsGroupChangePolicy": "OnRootMismatch",
            "supplementalGroups": [1, 2],
            "sysctls": [{"name": "kernel.shm_rmid_forced", "value": "1"}],
        }
    ),
    "with bad groups": _spec(
        securityContext={
            "fsGroup": -5,
            "fsGroupChangePolicy": "Odd",
            "supplementalGroups": [-1],
            "sysctls": [{"name": "a b", "value": "1"}],
        }
    ),
    "with the host's network": {
        "spec": {
            "hostNetwork": True,
            "containers": [{**MAIN, "ports": [{"containerPort": 80, "hostPort": 81}]}],
        }
    },
    "with an unknown account": _spec(serviceAccountName="nobody"),
    "with no token of its account": _spec(automountServiceAccountToken=False),
    "with a pull secret": _spec(imagePullSecrets=[{"name": "s"}, {"name": ""}]),
    "with readiness gates": _spec(
        readinessGates=[{"conditionType": "a/b"}, {"conditionType": "-"}]
    ),
    "with host aliases": _spec(hostAliases=[{"ip": "1.2.3.4", "hostnames": ["a"]}, {"ip": "x"}]),
    "with an operating system": _spec(os={"name": "linux"}),
    "with an unknown operating system": _spec(os={"name": "odd"}),
    "with a runtime class": _spec(runtimeClassName="odd"),
    "with overhead": _spec(overhead={"cpu": "1"}),
    "with a status of its own": {"status": {"phase": "Running", "podIP": "1.2.3.4"}},
    "with an annotation of the past": {
        "metadata": {"annotations": {"seccomp.security.alpha.kubernetes.io/pod": "odd"}}
    },
}

_UPDATED: dict[str, Doc] = {
    "to another image": _container(image="other"),
    "to another name of a container": _container(name="other"),
    "to a node": _spec(nodeName="n1"),
    "with a volume": _spec(volumes=[{"name": "data"}]),
    "to a deadline": _spec(activeDeadlineSeconds=5),
    "with a toleration": _spec(tolerations=[{"key": "a", "operator": "Exists"}]),
    "to another grace": _spec(terminationGracePeriodSeconds=5),
    "with a label": {"metadata": {"labels": {"a": "b"}}},
    "with a status, which is ignored": {"status": {"phase": "Running"}},
}

_STATUS: dict[str, Doc] = {
    "that it runs": {
        "status": {
            "phase": "Running",
            "podIP": "10.0.0.1",
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [
                {
                    "name": "main",
                    "ready": True,
                    "restartCount": 1,
                    "image": "box",
                    "imageID": "i",
                    "state": {"running": {"startedAt": "2001-01-01T00:00:00Z"}},
                    "lastState": {"terminated": {"exitCode": 3}},
                }
            ],
        }
    },
    "with half a container": {"status": {"containerStatuses": [{"name": "main"}]}},
    "with another spec and a label": {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"nodeName": "n2"},
        "status": {"phase": "Failed", "reason": "Evicted", "message": "m"},
    },
    "with bad addresses": {"status": {"podIP": "x", "podIPs": [{"ip": "x"}]}},
}


def _binding(**target: object) -> Doc:
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "$name"},
        "target": {"kind": "Node", "name": "n1", **target},
    }


_KNOWN = [{**MAIN, "volumeMounts": [{"name": "a", "mountPath": "/a"}], "env": [{"name": "A"}]}]
_RICH = changed(POD, {"spec": {"volumes": [{"name": "a"}], "containers": _KNOWN}})

CASES: Cases = {
    **creates("pod", {**_CONTAINERS, **_SPECS}),
    **updates("pod", {}, _UPDATED),
    **{
        f"pod given a status {words}": (
            post(PODS, POD),
            put(f"{ONE}/status", Again(0, change)),
            get(ONE),
            get(ONE, "application/json;as=Table;v=v1;g=meta.k8s.io"),
        )
        for words, change in _STATUS.items()
    },
    "pod bound to a node, and again": (
        post(PODS, POD),
        post(f"{ONE}/binding", _binding()),
        get(ONE),
        post(f"{ONE}/binding", _binding(name="n2")),
    ),
    "pod bound to nothing": (post(PODS, POD), post(f"{ONE}/binding", _binding(name=None))),
    "pod bound to what is no node": (post(PODS, POD), post(f"{ONE}/binding", _binding(kind="Pod"))),
    "pod that is not there bound": (
        post(f"{PODS}/none/binding", {**_binding(), "metadata": {"name": "none"}}),
    ),
    "pod bound by a pod of another name": (
        post(PODS, POD),
        post(f"{ONE}/binding", {**_binding(), "metadata": {"name": "other"}}),
    ),
    "pod patched strategically, lists by their keys": (
        post(PODS, _RICH),
        strategic(ONE, {"spec": {"containers": [{"name": "main", "image": "other"}]}}),
        strategic(ONE, {"spec": {"tolerations": [{"key": "k", "operator": "Exists"}]}}),
        strategic(ONE, {"spec": {"volumes": [{"name": "a", "hostPath": {"path": "/x"}}]}}),
        strategic(f"{ONE}/status", {"status": {"conditions": [{"type": "A", "status": "True"}]}}),
        strategic(f"{ONE}/status", {"status": {"conditions": [{"type": "B", "status": "True"}]}}),
        strategic(f"{ONE}/status", {"status": {"conditions": [{"type": "A", "$patch": "delete"}]}}),
    ),
    "pod moved to a node by a patch": (
        post(PODS, POD),
        merge(ONE, {"spec": {"nodeName": "n1"}}),
        json_patch(ONE, {"op": "add", "path": "/spec/nodeName", "value": "n1"}),
    ),
    "pod with a generation of its own": (
        post(PODS, changed(POD, {"metadata": {"generation": 7}})),
        merge(ONE, {"metadata": {"generation": 9}}),
    ),
}
