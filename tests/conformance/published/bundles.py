"""Manifests that others publish: where they are had, and in which order they are applied."""

from pathlib import Path

import msgspec

from tests.conformance.obtain import Files, files


class Bundle(msgspec.Struct, frozen=True):
    """Each of `applied` is one `kubectl apply`: its files in the order of their documentation."""

    source: Files
    applied: tuple[tuple[str, ...], ...]
    flag: str = "-f"  # -k: a directory of kustomize
    pods: int = 0  # that its workloads want on one node

    def words(self) -> list[list[str]]:
        """What follows `kubectl apply`, time after time. Raises Missing."""
        place = files(self.source)
        return [self._of(place, names) for names in self.applied]

    def _of(self, place: Path, names: tuple[str, ...]) -> list[str]:
        return [word for name in names for word in (self.flag, str(place / name))]


def _source(name: str, module: str, version: str, directory: str) -> Files:
    return Files(name, f"github.com/{module}", version, directory)


BUNDLES = {
    "cert-manager's kinds": Bundle(
        _source("cert-manager-kinds", "cert-manager/cert-manager", "v1.21.2", "deploy/crds"),
        ((".",),),
    ),
    "Velero's kinds": Bundle(
        _source("velero-kinds", "vmware-tanzu/velero", "v1.18.3", "config/crd"),
        (("v1/bases", "v2alpha1/bases"),),
    ),
    "LVM-LocalPV": Bundle(
        _source("lvm-manifests", "openebs/lvm-localpv", "v1.5.0", "deploy"),
        (("lvm-operator.yaml",),),
        pods=2,
    ),
    "Longhorn": Bundle(
        _source("longhorn-manifests", "longhorn/longhorn", "v1.12.1", "deploy"),
        (("longhorn.yaml",),),
        pods=4,
    ),
    "Rook": Bundle(
        _source("rook-manifests", "rook/rook", "v1.20.6", "deploy/examples"),
        (("crds.yaml", "common.yaml", "csi-operator.yaml"), ("operator.yaml",)),
        pods=2,
    ),
    "the NFS driver": Bundle(
        _source("nfs-manifests", "kubernetes-csi/csi-driver-nfs", "v4.13.4", "deploy"),
        (
            ("rbac-csi-nfs.yaml", "csi-nfs-driverinfo.yaml", "csi-nfs-controller.yaml"),
            ("csi-nfs-node.yaml", "crd-csi-snapshot.yaml"),
            ("rbac-snapshot-controller.yaml", "csi-snapshot-controller.yaml"),
        ),
        pods=4,
    ),
    "the SMB driver": Bundle(
        _source("smb-manifests", "kubernetes-csi/csi-driver-smb", "v1.20.3", "deploy"),
        (
            ("rbac-csi-smb.yaml", "csi-smb-driver.yaml", "csi-smb-controller.yaml"),
            ("csi-smb-node.yaml", "csi-smb-node-windows.yaml"),
        ),
        pods=2,
    ),
    "the EBS driver": Bundle(
        _source(
            "ebs-manifests", "kubernetes-sigs/aws-ebs-csi-driver", "v1.64.0", "deploy/kubernetes"
        ),
        (("overlays/stable",),),
        flag="-k",
        pods=3,
    ),
    "the driver of Hetzner Cloud": Bundle(
        _source("hcloud-manifests", "hetznercloud/csi-driver", "v2.22.1", "deploy/kubernetes"),
        (("hcloud-csi.yml",),),
        pods=2,
    ),
}
