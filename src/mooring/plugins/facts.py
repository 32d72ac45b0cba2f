"""What no registry knows of a volume source: its upstream history, and how it is tested here.

One row per source of pods and persistent volumes. `plugins/table.py` puts them beside the registry.
"""

from enum import StrEnum
from typing import Final

import msgspec

from mooring.model.wellknown import Plugin
from mooring.plugins.dead_product import REASONS


class HowTested(StrEnum):
    HERE = "real here"
    VIRTUAL_MACHINE = "real in the virtual machine"
    USER_SPACE = "user-space server"
    RECORDED = "recorded commands"
    TRANSLATION = "tables and round trips of the translation"
    PLAYED = "whole roles on a played clock"
    API = "API alone"


API_TESTS: Final = "tests/unit/apiserver/kinds/test_volume_sources.py"


class Fact(msgspec.Struct, frozen=True):
    source: str  # the field in the API
    plugin: str  # its name; empty: no plugin has to do with it
    modes: str  # access modes; "-": no persistent volume has such a source
    upstream: str
    tested: HowTested = HowTested.API
    tests: str = API_TESTS
    instead: str = ""  # what serves it, or why nothing does, when no plugin is registered
    module: str = ""  # of plugins that are found at run time
    controller: str = ""  # what controllers do for it


_IN = "in 1.35"
_ONE, _READ, _ALL = "RWO", "RWO, ROX", "RWO, ROX, RWX"
_UNIT, _HOST, _CLIENTS = "tests/unit/plugins", "tests/host", "tests/clients"
_VM = "tests/vm/inside"
_BACK = "tests/unit/model/csi_translation/test_back.py"
_HERE, _MOVED = HowTested.HERE, HowTested.TRANSLATION
_OBJECTS = f"{_HOST}/test_plugin_objects.py"
_PODS = f"{_CLIENTS}/test_pod_volumes.py"


def _gone(release: str) -> str:
    return f"removed in {release}"


def _dead(source: str) -> str:
    return f"not served: {REASONS[source]}"


def _migrated(release: str) -> str:
    return f"removed in {release}, CSI migration always on"


FACTS: Final = (
    Fact("emptyDir", Plugin.EMPTY_DIR, "-", _IN, _HERE, _PODS),
    Fact("hostPath", Plugin.HOST_PATH, _ONE, _IN, _HERE, f"{_HOST}/test_host_path_deleter.py",
         controller="provision (flag), delete, recycle"),
    Fact("local", Plugin.LOCAL, _ONE, _IN, _HERE, f"{_CLIENTS}/test_local_disks.py"),
    Fact("configMap", Plugin.CONFIG_MAP, "-", _IN, _HERE, _PODS),
    Fact("secret", Plugin.SECRET, "-", _IN, _HERE, _OBJECTS),
    Fact("downwardAPI", Plugin.DOWNWARD_API, "-", _IN, _HERE, f"{_CLIENTS}/test_node.py"),
    Fact("projected", Plugin.PROJECTED, "-", _IN, _HERE, _OBJECTS),
    Fact("gitRepo", Plugin.GIT_REPO, "-", "deprecated in 1.11, gate off since 1.33", _HERE,
         f"{_UNIT}/test_git_repo.py"),
    Fact("image", Plugin.IMAGE, "-", _IN, _HERE, f"{_CLIENTS}/test_pod_images.py"),
    Fact("csi", Plugin.CSI, "the driver's", _IN, _HERE, f"{_CLIENTS}/test_csi.py",
         controller="provision, delete, grow, snapshot (sidecars)"),
    Fact("persistentVolumeClaim", "", "the volume's", _IN, _HERE, f"{_CLIENTS}/test_csi.py",
         instead="the plugin of its volume"),
    Fact("ephemeral", "", "the volume's", _IN, HowTested.PLAYED, "tests/scenarios/ephemeral",
         instead="a claim that comes and goes with the pod"),
    Fact("nfs", Plugin.NFS, _ALL, _IN, HowTested.VIRTUAL_MACHINE, f"{_VM}/test_nfs.py",
         instead="not served yet: the nfs CSI driver can", controller="recycle"),
    Fact("iscsi", Plugin.ISCSI, _READ, _IN, HowTested.VIRTUAL_MACHINE, f"{_VM}/test_iscsi.py",
         instead="not served yet: an iSCSI CSI driver can"),
    Fact("fc", Plugin.FC, _READ, _IN, HowTested.RECORDED, f"{_UNIT}/fc",
         instead="not served yet: the CSI driver of the array can"),
    Fact("flexVolume", "", _READ, "deprecated in 1.23", _HERE, f"{_UNIT}/flex",
         instead="not served yet: a CSI driver can", module="mooring.plugins.flex.prober",
         controller="attach, grow"),
    Fact("gcePersistentDisk", Plugin.GCE_PD, _READ, _migrated("1.28"), _HERE,
         f"{_CLIENTS}/test_csi_migration.py"),
    Fact("awsElasticBlockStore", Plugin.AWS_EBS, _ONE, _migrated("1.27"), _MOVED, _BACK),
    Fact("azureDisk", Plugin.AZURE_DISK, _ONE, _migrated("1.27"), _MOVED, _BACK),
    Fact("azureFile", Plugin.AZURE_FILE, _ALL, _migrated("1.30"), _MOVED, _BACK),
    Fact("cinder", Plugin.CINDER, _ONE, _migrated("1.26"), _MOVED, _BACK),
    Fact("vsphereVolume", Plugin.VSPHERE, _ONE, _migrated("1.30"), _MOVED, _BACK),
    Fact("portworxVolume", Plugin.PORTWORX, "RWO, RWX", "in 1.35, CSI migration always on", _MOVED,
         _BACK),
    Fact("rbd", Plugin.RBD, _READ, "removed in 1.31 with its migration, which was off",
         HowTested.VIRTUAL_MACHINE, f"{_VM}/test_ceph.py", controller="provision, delete, grow"),
    Fact("cephfs", Plugin.CEPHFS, _ALL, _gone("1.31"), HowTested.VIRTUAL_MACHINE,
         f"{_VM}/test_ceph.py"),
    Fact("glusterfs", Plugin.GLUSTERFS, _ALL, _gone("1.26"), _HERE,
         f"{_HOST}/test_glusterfs.py", controller="provision, delete, grow (heketi)"),
    Fact("quobyte", Plugin.QUOBYTE, _ALL, _gone("1.25"), HowTested.RECORDED,
         f"{_UNIT}/quobyte", controller="provision, delete"),
    Fact("flocker", Plugin.FLOCKER, _ONE, _gone("1.25"), instead=_dead("flocker")),
    Fact("storageos", Plugin.STORAGE_OS, _READ, _gone("1.25"), instead=_dead("storageos")),
    Fact("scaleIO", Plugin.SCALE_IO, _READ, _gone("1.22"), instead=_dead("scaleIO")),
    Fact("photonPersistentDisk", Plugin.PHOTON, _ONE, _gone("1.16"),
         instead=_dead("photonPersistentDisk")),
)  # fmt: skip
