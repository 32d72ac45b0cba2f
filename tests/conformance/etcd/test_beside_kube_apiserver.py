"""A real kube-apiserver on the same etcd reads what Mooring wrote, and the other way round."""

from pathlib import Path

import pytest

from mooring.apiserver.auth.pki import open_pki
from mooring.clock import RealClock
from tests.conformance.etcd.members import etcd_cluster
from tests.conformance.etcd.servers import Client, api_servers
from tests.conformance.obtain import KUBE_APISERVER, Missing
from tests.conformance.peers import FORGETFUL, LOOPBACK, Find, kube_apiserver

MAPS = "/api/v1/namespaces/default/configmaps"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
BOATS = "/apis/harbor.example.com/v1/namespaces/default/boats"

OBJECTS: dict[str, dict[str, object]] = {
    MAPS: {"metadata": {"name": "a", "labels": {"x": "y"}}, "data": {"k": "ü"}},
    CLASSES: {"metadata": {"name": "a"}, "provisioner": "example.com/p"},
    VOLUMES: {
        "metadata": {"name": "a"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/srv/a"},
        },
    },
    CLAIMS: {
        "metadata": {"name": "a"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "a",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    },
    DEFINITIONS: {
        "metadata": {"name": "boats.harbor.example.com"},
        "spec": {
            "group": "harbor.example.com",
            "names": {"plural": "boats", "kind": "Boat"},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object"}},
                }
            ],
        },
    },
}


@pytest.mark.timeout(300)
def test_each_reads_what_the_other_wrote(etcd_program: Path, find: Find, tmp_path: Path) -> None:
    try:
        program = find(KUBE_APISERVER)
    except Missing as reason:
        pytest.skip(f"no kube-apiserver: {reason}")
    pki = open_pki(tmp_path / "pki", now=RealClock().now(), host_name=LOOPBACK)
    with (
        etcd_cluster(etcd_program, tmp_path / "etcd", 1, FORGETFUL) as members,
        api_servers(tmp_path / "api", members, 1) as servers,
    ):
        ours = Client(servers, 0)
        for path, doc in OBJECTS.items():
            code, made = ours.ask("POST", path, doc)
            assert code == 201, made["message"]
        store = members[0].client_url
        with kube_apiserver(
            program, pki, store, tmp_path / "kube", ("--storage-media-type=application/json",)
        ) as cluster:
            theirs = cluster.client()
            for path, doc in OBJECTS.items():
                metadata = doc["metadata"]
                assert isinstance(metadata, dict)
                place = f"{path}/{metadata['name']}"
                there = theirs.ask("GET", place)
                assert there.code == 200, (place, there)
                _, here = ours.ask("GET", place)
                assert there.doc["metadata"]["uid"] == here["metadata"]["uid"]
                assert (
                    there.doc["metadata"]["resourceVersion"] == here["metadata"]["resourceVersion"]
                )
            theirs.close()
        ours.close()
