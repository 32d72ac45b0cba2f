"""What stories are drawn from."""

from tests.conformance.controllers.story import Doc

SIZES = ["1Gi", "2Gi", "3Gi", "5Gi", "8Gi", "10Gi", "20Gi", "50Gi", "1500Mi"]
REQUESTS = ["1Gi", "1Gi", "1500Mi", "4Gi", "9Gi"]
ONCE, MANY, READ, POD = "ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany", "ReadWriteOncePod"
MODES = [[ONCE], [ONCE], [ONCE, READ], [ONCE, READ, MANY], [MANY], [POD]]
WAIT = "WaitForFirstConsumer"
CLASSES: dict[str, Doc] = {
    "gold": {"provisioner": "d.example.com", "allowVolumeExpansion": True},
    "host": {"provisioner": "kubernetes.io/host-path", "allowVolumeExpansion": True},
    "kept": {"provisioner": "kubernetes.io/host-path", "reclaimPolicy": "Retain"},
    "late": {"provisioner": "kubernetes.io/host-path", "volumeBindingMode": WAIT},
    "local": {"provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": WAIT},
    "hand": {"provisioner": "kubernetes.io/no-provisioner"},
    "past": {"provisioner": "kubernetes.io/gce-pd"},
    "odd": {"provisioner": "kubernetes.io/host-path", "mountOptions": ["soft"]},
}
NO_OBJECT = "silver"  # a class that only volumes and claims know
CLAIMS, PODS = ("c1", "c2", "c3"), ("p1", "p2")
NODE, GONE_NODE = "n1", "n2"

IS_DEFAULT = "storageclass.kubernetes.io/is-default-class"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
PRE_RESIZE = "volume.alpha.kubernetes.io/pre-resize-capacity"


def an_affinity() -> Doc:
    terms = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]
    return {"required": {"nodeSelectorTerms": terms}}
