"""Nearly every field of every kind: what is added to the smallest objects to make rich ones."""

from tests.conformance.asking import Doc

METADATA = {
    "labels": {"a": "b", "example.com/c": "d"},
    "annotations": {"e": "f"},
    "finalizers": ["example.com/one", "example.com/two"],
    "ownerReferences": [
        {
            "apiVersion": "example.com/v1",
            "kind": "Thing",
            "name": "o",
            "uid": "u",
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ],
}
_SELECTOR = {
    "matchLabels": {"a": "b"},
    "matchExpressions": [{"key": "c", "operator": "NotIn", "values": ["d", "e"]}],
}
_NEAR = {
    "required": {
        "nodeSelectorTerms": [
            {
                "matchExpressions": [
                    {"key": "zone", "operator": "In", "values": ["z1"]},
                    {"key": "rank", "operator": "Gt", "values": ["5"]},
                ],
                "matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n9"]}],
            }
        ]
    }
}
_SECRET = {"name": "s", "namespace": "n"}
_CLAIM_SPEC = {
    "accessModes": ["ReadWriteOnce", "ReadOnlyMany"],
    "selector": _SELECTOR,
    "resources": {"requests": {"storage": "1Gi"}, "limits": {"storage": "2Gi"}},
    "volumeName": "v1",
    "storageClassName": "fast",
    "volumeMode": "Block",
    "dataSource": {
        "apiGroup": "snapshot.storage.k8s.io",
        "kind": "VolumeSnapshot",
        "name": "s1",
    },
    "volumeAttributesClassName": "gold",
}
_PROBE = {
    "httpGet": {"path": "/", "port": 80, "httpHeaders": [{"name": "A", "value": "b"}]},
    "initialDelaySeconds": 1,
    "timeoutSeconds": 2,
    "periodSeconds": 3,
    "failureThreshold": 4,
}
_CONTAINER = {
    "name": "main",
    "image": "box:1",
    "command": ["a"],
    "args": ["b"],
    "workingDir": "/w",
    "ports": [
        {"containerPort": 80, "name": "web"},
        {"containerPort": 53, "protocol": "UDP", "hostPort": 53, "hostIP": "10.0.0.1"},
    ],
    "env": [
        {"name": "A", "value": "b"},
        {"name": "C", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
        {"name": "D", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": True}}},
        {
            "name": "E",
            "valueFrom": {
                "resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"},
            },
        },
    ],
    "envFrom": [{"prefix": "P_", "configMapRef": {"name": "c", "optional": True}}],
    "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}},
    "resizePolicy": [{"resourceName": "memory", "restartPolicy": "RestartContainer"}],
    "volumeMounts": [
        {
            "name": "scratch",
            "mountPath": "/s",
            "subPath": "x",
            "mountPropagation": "HostToContainer",
        },
        {"name": "files", "mountPath": "/f", "readOnly": True, "recursiveReadOnly": "IfPossible"},
    ],
    "volumeDevices": [{"name": "disk", "devicePath": "/dev/d"}],
    "livenessProbe": _PROBE,
    "readinessProbe": {"tcpSocket": {"port": "web", "host": "h"}, "successThreshold": 2},
    "startupProbe": {"grpc": {"port": 5, "service": "s"}, "terminationGracePeriodSeconds": 3},
    "lifecycle": {
        "postStart": {"exec": {"command": ["a"]}},
        "preStop": {"httpGet": {"port": "web", "scheme": "HTTPS"}},
    },
    "terminationMessagePath": "/t",
    "terminationMessagePolicy": "FallbackToLogsOnError",
    "imagePullPolicy": "Never",
    "securityContext": {
        "capabilities": {"add": ["A"], "drop": ["ALL"]},
        "runAsUser": 1,
        "runAsGroup": 2,
        "runAsNonRoot": True,
        "readOnlyRootFilesystem": True,
        "allowPrivilegeEscalation": False,
        "seccompProfile": {"type": "Localhost", "localhostProfile": "p"},
        "seLinuxOptions": {"user": "u", "role": "r", "type": "t", "level": "l"},
        "appArmorProfile": {"type": "RuntimeDefault"},
    },
    "stdin": True,
    "stdinOnce": True,
    "tty": True,
}
_POD_SPEC = {
    "volumes": [
        {"name": "scratch", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
        {"name": "disk", "persistentVolumeClaim": {"claimName": "c", "readOnly": True}},
        {
            "name": "files",
            "projected": {
                "defaultMode": 256,
                "sources": [
                    {"secret": {"name": "s", "items": [{"key": "k", "path": "p", "mode": 292}]}},
                    {"configMap": {"name": "c", "optional": True}},
                    {
                        "downwardAPI": {
                            "items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]
                        }
                    },
                    {
                        "serviceAccountToken": {
                            "path": "t",
                            "audience": "a",
                            "expirationSeconds": 700,
                        }
                    },
                ],
            },
        },
        {
            "name": "mine",
            "ephemeral": {
                "volumeClaimTemplate": {
                    "metadata": {"labels": {"a": "b"}},
                    "spec": {
                        "accessModes": ["ReadWriteOnce"],
                        "resources": {"requests": {"storage": "1Gi"}},
                    },
                }
            },
        },
        {
            "name": "inline",
            "csi": {
                "driver": "csi.example.com",
                "readOnly": True,
                "fsType": "ext4",
                "volumeAttributes": {"a": "b"},
                "nodePublishSecretRef": {"name": "s"},
            },
        },
    ],
    "initContainers": [{"name": "side", "image": "box:1", "restartPolicy": "Always"}],
    "containers": [_CONTAINER],
    "restartPolicy": "OnFailure",
    "terminationGracePeriodSeconds": 5,
    "activeDeadlineSeconds": 60,
    "dnsPolicy": "None",
    "dnsConfig": {
        "nameservers": ["1.2.3.4"],
        "searches": ["a.b"],
        "options": [{"name": "ndots", "value": "2"}],
    },
    "nodeSelector": {"a": "b"},
    "automountServiceAccountToken": False,
    "nodeName": "n1",
    "hostNetwork": False,
    "hostPID": False,
    "shareProcessNamespace": True,
    "securityContext": {
        "runAsUser": 1,
        "fsGroup": 2,
        "fsGroupChangePolicy": "OnRootMismatch",
        "supplementalGroups": [3, 4],
        "supplementalGroupsPolicy": "Merge",
        "sysctls": [{"name": "kernel.shm_rmid_forced", "value": "1"}],
        "seLinuxOptions": {"level": "s0"},
    },
    "imagePullSecrets": [{"name": "p"}],
    "hostname": "h",
    "subdomain": "s",
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": _NEAR["required"],
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 1,
                    "preference": {
                        "matchExpressions": [{"key": "a", "operator": "Exists"}],
                    },
                }
            ],
        },
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 1,
                    "podAffinityTerm": {"labelSelector": _SELECTOR, "topologyKey": "zone"},
                }
            ]
        },
    },
    "schedulerName": "mine",
    "tolerations": [
        {
            "key": "a",
            "operator": "Equal",
            "value": "b",
            "effect": "NoExecute",
            "tolerationSeconds": 5,
        }
    ],
    "hostAliases": [{"ip": "1.2.3.4", "hostnames": ["a", "b"]}],
    "readinessGates": [{"conditionType": "a.b/c"}],
    "enableServiceLinks": False,
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": _SELECTOR,
            "minDomains": 2,
            "nodeAffinityPolicy": "Honor",
            "nodeTaintsPolicy": "Ignore",
        }
    ],
    "setHostnameAsFQDN": True,
    "os": {"name": "linux"},
}

RICH: dict[str, tuple[str, Doc]] = {
    "config map": (
        "core.v1.ConfigMap",
        {"data": {"a": "b"}, "binaryData": {"c": "AAE="}, "immutable": False},
    ),
    "secret": (
        "core.v1.Secret",
        {"data": {"a": "Yg=="}, "type": "example.com/own", "immutable": False},
    ),
    "service account": (
        "core.v1.ServiceAccount",
        {
            "secrets": [{"name": "a"}, {"name": "b"}],
            "imagePullSecrets": [{"name": "c"}],
            "automountServiceAccountToken": False,
        },
    ),
    "claim": ("core.v1.PersistentVolumeClaim", {"spec": _CLAIM_SPEC}),
    "volume": (
        "core.v1.PersistentVolume",
        {
            "spec": {
                "accessModes": ["ReadWriteOnce", "ReadOnlyMany"],
                "persistentVolumeReclaimPolicy": "Delete",
                "storageClassName": "fast",
                "volumeMode": "Block",
                "mountOptions": ["ro", "noatime"],
                "nodeAffinity": _NEAR,
                "volumeAttributesClassName": "gold",
                "claimRef": {
                    "apiVersion": "v1",
                    "kind": "PersistentVolumeClaim",
                    "namespace": "n",
                    "name": "c",
                    "uid": "u",
                    "resourceVersion": "5",
                },
                "csi": {
                    "driver": "csi.example.com",
                    "volumeHandle": "h",
                    "readOnly": True,
                    "fsType": "ext4",
                    "volumeAttributes": {"a": "b"},
                    "controllerPublishSecretRef": _SECRET,
                    "nodeStageSecretRef": _SECRET,
                    "nodePublishSecretRef": _SECRET,
                    "controllerExpandSecretRef": _SECRET,
                    "nodeExpandSecretRef": _SECRET,
                },
            }
        },
    ),
    "storage class": (
        "storage.v1.StorageClass",
        {
            "parameters": {"a": "b"},
            "reclaimPolicy": "Retain",
            "mountOptions": ["ro"],
            "allowVolumeExpansion": True,
            "volumeBindingMode": "WaitForFirstConsumer",
            "allowedTopologies": [
                {"matchLabelExpressions": [{"key": "zone", "values": ["z1", "z2"]}]}
            ],
        },
    ),
    "driver": (
        "storage.v1.CSIDriver",
        {
            "spec": {
                "attachRequired": False,
                "podInfoOnMount": True,
                "volumeLifecycleModes": ["Persistent", "Ephemeral"],
                "storageCapacity": True,
                "fsGroupPolicy": "File",
                "tokenRequests": [{"audience": "a", "expirationSeconds": 600}, {"audience": ""}],
                "requiresRepublish": True,
                "seLinuxMount": True,
                "nodeAllocatableUpdatePeriodSeconds": 20,
            }
        },
    ),
    "CSI node": (
        "storage.v1.CSINode",
        {
            "spec": {
                "drivers": [
                    {
                        "name": "a.b",
                        "nodeID": "i",
                        "topologyKeys": ["x", "y"],
                        "allocatable": {"count": 5},
                    },
                    {"name": "c.d", "nodeID": "j", "topologyKeys": ["x"]},
                ]
            }
        },
    ),
    "storage capacity": (
        "storage.v1.CSIStorageCapacity",
        {"nodeTopology": _SELECTOR, "capacity": "10Gi", "maximumVolumeSize": "1Gi"},
    ),
    "attributes class": ("storage.v1.VolumeAttributesClass", {"parameters": {"a": "b", "c": "d"}}),
    "attachment": (
        "storage.v1.VolumeAttachment",
        {
            "spec": {
                "source": {
                    "persistentVolumeName": None,
                    "inlineVolumeSpec": {
                        "accessModes": ["ReadWriteOnce"],
                        "mountOptions": ["ro"],
                        "csi": {
                            "driver": "csi.example.com",
                            "volumeHandle": "h",
                            "nodeStageSecretRef": _SECRET,
                        },
                    },
                }
            }
        },
    ),
    "lease": (
        "coordination.v1.Lease",
        {
            "spec": {
                "leaseDurationSeconds": 15,
                "acquireTime": "2001-01-01T00:00:00.000001Z",
                "renewTime": "2001-01-01T00:00:00.120000Z",
                "leaseTransitions": 2,
            }
        },
    ),
    "event": (
        "core.v1.Event",
        {
            "involvedObject": {"apiVersion": "v1", "fieldPath": "spec", "resourceVersion": "5"},
            "source": {"component": "c", "host": "h"},
            "firstTimestamp": "2001-01-01T00:00:00Z",
            "lastTimestamp": "2001-01-01T00:00:01Z",
            "count": 3,
            "action": "Do",
            "related": {"kind": "Node", "name": "n1"},
            "reportingComponent": "a.b/c",
            "reportingInstance": "i",
        },
    ),
    "node": (
        "core.v1.Node",
        {
            "spec": {
                "podCIDR": "10.1.0.0/24",
                "podCIDRs": ["10.1.0.0/24"],
                "providerID": "a://b",
                "unschedulable": True,
            }
        },
    ),
    "pod": ("core.v1.Pod", {"spec": _POD_SPEC}),
}
