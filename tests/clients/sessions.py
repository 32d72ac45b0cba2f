"""Who types what pages show: a section with a console, shell or Python block is in one of these.

`tests/unit/test_sessions.py` keeps it complete, and looks up each test that is named.
"""

from collections.abc import Mapping

TYPED: Mapping[str, str] = {
    "README.md#A first session": "tests/clients/test_readme.py",
    "docs/custom-resources.md#A kind in five minutes": "tests/clients/test_pages.py",
    "docs/custom-resources.md#An operator": "tests/clients/test_guides.py",
    "docs/custom-resources.md#Versions that a webhook converts": "tests/clients/test_pages.py",
    "docs/webhooks.md#One for claims": "tests/clients/test_pages.py",
    "docs/dashboard.md#The storage of a cluster in a browser": "tests/clients/test_pages.py",
    "docs/everyday.md#When a machine dies": "tests/clients/test_pages.py",
    "docs/images.md#Pulling by hand, and importing": "tests/clients/test_pod_images.py",
    "docs/reclaim.md#Try all three": "tests/clients/test_reclaim.py",
    "docs/statefulset-snapshots.md#A second set beside the first": "tests/clients/test_guides.py",
    "docs/statefulset-snapshots.md#The end": "tests/clients/test_guides.py",
    "docs/statefulset-snapshots.md#The set": "tests/clients/test_guides.py",
    "docs/statefulset-snapshots.md#The set itself, as it was": "tests/clients/test_guides.py",
    "docs/statefulset-snapshots.md#The snapshots": "tests/clients/test_guides.py",
    "docs/testing.md#A CSI driver to script": "tests/clients/test_pages.py",
    "docs/testing.md#Clusters in tests": "tests/clients/test_pages.py",
    "docs/testing.md#Nodes that run pods by saying so": "tests/clients/test_pages.py",
    "docs/testing.md#With pytest": "tests/clients/test_pages.py",
    "docs/top.md#How full volumes are: `mooring top`": "tests/clients/test_pages.py",
    "docs/tutorial.md#A snapshot": "tests/clients/test_readme.py",
    "docs/tutorial.md#A volume, and a pod that writes to it": "tests/clients/test_readme.py",
    "docs/tutorial.md#Clean up": "tests/clients/test_readme.py",
    "docs/tutorial.md#Restore": "tests/clients/test_readme.py",
    "docs/walk-through.md#A minute with kubectl": "tests/clients/test_pages.py",
    "docs/walk-through.md#Standalone roles": "tests/clients/test_pages.py",
    "docs/walk-through.md#The default class": "tests/clients/test_readme.py",
    "docs/walk-through.md#Volumes that grow and can be copied": "tests/clients/test_readme.py",
    "docs/why.md#Why is it stuck? `mooring why`": "tests/clients/test_pages.py",
    "docs/workloads.md#CronJob": "tests/clients/test_pages.py",
    "docs/workloads.md#Deployment": "tests/clients/test_pages.py",
    "docs/workloads.md#Growing the claims": "tests/clients/test_pages.py",
}

NOT_TYPED: Mapping[str, str] = {
    "README.md#Mooring": "`make up` installs into the clone, `make test` is the whole suite",
    "docs/csi.md#Changed blocks": (
        "its extents are of one volume; test_changed_blocks.py compares those of its own with what "
        "was written"
    ),
    "docs/etcd.md#From SQLite to etcd, and back": (
        "three machines; tests/clients/test_etcd.py has one"
    ),
    "docs/etcd.md#Run three": (
        "three machines with their certificates; tests/conformance/etcd has one"
    ),
    "docs/index.md#Mooring": (
        "takes /var/lib/mooring and port 6443 of the machine; tests/conformance/test_wheel.py "
        "installs the wheel"
    ),
    "docs/tutorial.md#Install": (
        "asks package indexes; tests/conformance/test_wheel.py does the same"
    ),
    "docs/tutorial.md#Start": "takes port 6443 of the machine; each test of a node starts it so",
    "docs/walk-through.md#A pod with a local volume": (
        "its image is on the internet; test_local_disks.py types it on the machine's own programs"
    ),
    "docs/walk-through.md#Other CSI drivers": (
        "csi-driver-host-path is built by `make conformance`: tests/conformance/csi"
    ),
}
