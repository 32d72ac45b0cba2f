"""Names with a meaning in Kubernetes storage: annotations, labels, finalizers, taints, plugins.

Each is a wire literal. "Present" means that only the key counts, whatever its value.
"""

from typing import Final


class Annotation:
    # binding
    BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"  # claim; present
    BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"  # both; present
    STORAGE_CLASS_BETA: Final = "volume.beta.kubernetes.io/storage-class"  # both; overrides spec
    DEFAULT_CLASS: Final = "storageclass.kubernetes.io/is-default-class"  # class; "true"
    DEFAULT_CLASS_BETA: Final = "storageclass.beta.kubernetes.io/is-default-class"

    # provisioning
    PROVISIONED_BY: Final = "pv.kubernetes.io/provisioned-by"  # volume; provisioner
    MIGRATED_TO: Final = "pv.kubernetes.io/migrated-to"  # both; CSI driver
    PROVISIONER: Final = "volume.kubernetes.io/storage-provisioner"  # claim; provisioner
    PROVISIONER_BETA: Final = "volume.beta.kubernetes.io/storage-provisioner"
    SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"  # claim; node
    # claim; JSON of the driver's CreateVolume request, while the finalizer VOLUME_MAY_EXIST is set
    VOLUME_REQUEST: Final = "provisioner.mooring.dev/volume-request"
    CREATED_BY: Final = "kubernetes.io/createdby"  # volume; in-tree provisioner
    OWNER_GROUP: Final = "pv.beta.kubernetes.io/gid"  # volume; group id
    DELETION_SECRET_NAME: Final = "volume.kubernetes.io/provisioner-deletion-secret-name"  # noqa: S105 - an annotation's name
    DELETION_SECRET_NAMESPACE: Final = "volume.kubernetes.io/provisioner-deletion-secret-namespace"  # noqa: S105 - an annotation's name
    MODIFY_SECRET_NAME: Final = "volume.kubernetes.io/controller-modify-secret-name"  # noqa: S105 - an annotation's name
    MODIFY_SECRET_NAMESPACE: Final = "volume.kubernetes.io/controller-modify-secret-namespace"  # noqa: S105 - an annotation's name

    # expansion
    PRE_RESIZE_CAPACITY: Final = "volume.alpha.kubernetes.io/pre-resize-capacity"  # volume
    RESIZER: Final = "volume.kubernetes.io/storage-resizer"  # claim; resizer
    NODE_EXPANSION_NOT_REQUIRED: Final = "volume.kubernetes.io/node-expansion-not-required"  # claim

    # mounting and attaching
    MOUNT_OPTIONS_BETA: Final = "volume.beta.kubernetes.io/mount-options"  # volume
    # node; present
    CONTROLLER_ATTACHES: Final = "volumes.kubernetes.io/controller-managed-attach-detach"
    # node; the address and certificate of its logs, exec and attach, if not at its InternalIP
    SERVING_ADDRESS: Final = "mooring.dev/serving-address"
    SERVING_CERTIFICATE: Final = "mooring.dev/serving-certificate-sha256"
    NODE_ID: Final = "csi.volume.kubernetes.io/nodeid"  # node; JSON object of driver to id
    NODE_ID_AT_ATTACH: Final = "csi.alpha.kubernetes.io/node-id"  # attachment
    # attachment; the volume handle, in case the persistent volume is lost
    HANDLE_AT_ATTACH: Final = "attacher.mooring.dev/volume-handle"
    MIGRATED_PLUGINS: Final = "storage.alpha.kubernetes.io/migrated-plugins"  # CSI node; a,b

    # snapshots
    DEFAULT_SNAPSHOT_CLASS: Final = "snapshot.storage.kubernetes.io/is-default-class"  # class
    SNAPSHOT_BEING_CREATED: Final = "snapshot.storage.kubernetes.io/volumesnapshot-being-created"
    SNAPSHOT_BEING_DELETED: Final = "snapshot.storage.kubernetes.io/volumesnapshot-being-deleted"
    SNAPSHOT_SECRET_NAME: Final = "snapshot.storage.kubernetes.io/deletion-secret-name"  # noqa: S105 - an annotation's name
    SNAPSHOT_SECRET_NAMESPACE: Final = "snapshot.storage.kubernetes.io/deletion-secret-namespace"  # noqa: S105 - an annotation's name
    ALLOW_MODE_CHANGE: Final = "snapshot.storage.kubernetes.io/allow-volume-mode-change"  # "true"
    DEFAULT_GROUP_SNAPSHOT_CLASS: Final = "groupsnapshot.storage.kubernetes.io/is-default-class"
    GROUP_SNAPSHOT_BEING_CREATED: Final = (
        "groupsnapshot.storage.kubernetes.io/volumegroupsnapshot-being-created"
    )
    GROUP_SNAPSHOT_BEING_DELETED: Final = (
        "groupsnapshot.storage.kubernetes.io/volumegroupsnapshot-being-deleted"
    )
    GROUP_SNAPSHOT_SECRET_NAME: Final = "groupsnapshot.storage.kubernetes.io/deletion-secret-name"  # noqa: S105 - an annotation's name
    GROUP_SNAPSHOT_SECRET_NAMESPACE: Final = (
        "groupsnapshot.storage.kubernetes.io/deletion-secret-namespace"  # noqa: S105 - likewise
    )
    SNAPSHOT_REQUEST: Final = "snapshotter.mooring.dev/snapshot-request"  # content; while created
    GROUP_SNAPSHOT_HANDLE: Final = "groupsnapshot.storage.k8s.io/volumeGroupSnapshotHandle"

    # services
    OVER_CAPACITY: Final = "endpoints.kubernetes.io/over-capacity"  # endpoints; "truncated"
    # workloads
    POD_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"  # pod; int32
    GROW_CLAIMS: Final = "mooring.dev/grow-claims"  # stateful set; "true"
    TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"  # daemon set; a number
    REVISION: Final = "deployment.kubernetes.io/revision"  # deployment, replica set; a number
    REVISION_HISTORY: Final = "deployment.kubernetes.io/revision-history"  # replica set; 1,3
    DESIRED_REPLICAS: Final = "deployment.kubernetes.io/desired-replicas"  # replica set
    MAX_REPLICAS: Final = "deployment.kubernetes.io/max-replicas"  # replica set; with the surge
    ROLLBACK_TO: Final = "deprecated.deployment.rollback.to"

    # written by kubectl
    LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


class Label:
    NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"  # every namespace carries its own name
    HOSTNAME: Final = "kubernetes.io/hostname"
    ZONE: Final = "topology.kubernetes.io/zone"
    REGION: Final = "topology.kubernetes.io/region"
    ZONE_BETA: Final = "failure-domain.beta.kubernetes.io/zone"
    REGION_BETA: Final = "failure-domain.beta.kubernetes.io/region"
    NODE_ROLE_PREFIX: Final = "node-role.kubernetes.io/"  # the role is what follows
    NODE_ROLE: Final = "kubernetes.io/role"  # the role is the value
    CAPACITY_DRIVER: Final = "csi.storage.k8s.io/drivername"  # storage capacity
    CAPACITY_MANAGED_BY: Final = "csi.storage.k8s.io/managed-by"  # storage capacity
    SNAPSHOT_MANAGED_BY: Final = "snapshot.storage.kubernetes.io/managed-by"  # content; node
    SERVICE_NAME: Final = "kubernetes.io/service-name"  # endpoint slice; its service
    SLICE_MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"  # endpoint slice
    ENDPOINTS_MANAGED_BY: Final = "endpoints.kubernetes.io/managed-by"  # endpoints
    HEADLESS_SERVICE: Final = "service.kubernetes.io/headless"  # slice, endpoints; present
    POD_TEMPLATE_HASH: Final = "pod-template-hash"  # replica set and its pods

    # pods of stateful sets and daemon sets, and their ControllerRevisions
    POD_NAME: Final = "statefulset.kubernetes.io/pod-name"
    POD_INDEX: Final = "apps.kubernetes.io/pod-index"
    CONTROLLER_REVISION: Final = "controller-revision-hash"  # the revision that a pod is made from
    REVISION_HASH: Final = "controller.kubernetes.io/hash"  # revision of a stateful set
    TEMPLATE_GENERATION: Final = "pod-template-generation"  # pod of a daemon set


class Finalizer:
    # protection, added when the object is created
    CLAIM_PROTECTION: Final = "kubernetes.io/pvc-protection"
    VOLUME_PROTECTION: Final = "kubernetes.io/pv-protection"
    ATTRIBUTES_CLASS_PROTECTION: Final = "kubernetes.io/vac-protection"

    # volumes that must first be deleted outside the API
    IN_TREE_PROVISIONER: Final = "kubernetes.io/pv-controller"
    EXTERNAL_PROVISIONER: Final = "external-provisioner.volume.kubernetes.io/finalizer"
    ATTACHER_PREFIX: Final = "external-attacher/"  # volume and attachment; a driver follows
    # claim; CreateVolume was called, and there is no PersistentVolume for the result yet
    VOLUME_MAY_EXIST: Final = "provisioner.mooring.dev/volume-may-exist"

    # data sources in use
    CLONE_SOURCE: Final = "provisioner.storage.kubernetes.io/cloning-protection"
    RESTORE_SOURCE: Final = "provisioner.storage.kubernetes.io/volumesnapshot-as-source-protection"

    # snapshots
    SNAPSHOT_CONTENT: Final = (
        "snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection"
    )
    SNAPSHOT_BOUND: Final = "snapshot.storage.kubernetes.io/volumesnapshot-bound-protection"
    SNAPSHOT_AS_SOURCE: Final = "snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection"
    SNAPSHOT_IN_GROUP: Final = "snapshot.storage.kubernetes.io/volumesnapshot-in-group-protection"
    CLAIM_AS_SOURCE: Final = "snapshot.storage.kubernetes.io/pvc-as-source-protection"
    GROUP_SNAPSHOT_CONTENT: Final = (
        "groupsnapshot.storage.kubernetes.io/volumegroupsnapshotcontent-bound-protection"
    )
    GROUP_SNAPSHOT_BOUND: Final = (
        "groupsnapshot.storage.kubernetes.io/volumegroupsnapshot-bound-protection"
    )

    # of the API itself
    FOREGROUND: Final = "foregroundDeletion"
    ORPHAN: Final = "orphan"
    NAMESPACE_CONTENT: Final = "kubernetes"  # in spec.finalizers of a namespace


class TaintKey:
    NOT_READY: Final = "node.kubernetes.io/not-ready"
    UNREACHABLE: Final = "node.kubernetes.io/unreachable"
    OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"
    UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"
    MEMORY_PRESSURE: Final = "node.kubernetes.io/memory-pressure"
    DISK_PRESSURE: Final = "node.kubernetes.io/disk-pressure"
    PID_PRESSURE: Final = "node.kubernetes.io/pid-pressure"
    NETWORK_UNAVAILABLE: Final = "node.kubernetes.io/network-unavailable"


class Plugin:
    """Names of volume plugins; those of in-tree provisioners are the same."""

    PREFIX: Final = "kubernetes.io/"

    NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"  # a class of hand-made volumes
    CSI: Final = "kubernetes.io/csi"
    HOST_PATH: Final = "kubernetes.io/host-path"
    LOCAL: Final = "kubernetes.io/local-volume"
    NFS: Final = "kubernetes.io/nfs"
    ISCSI: Final = "kubernetes.io/iscsi"
    FC: Final = "kubernetes.io/fc"
    EMPTY_DIR: Final = "kubernetes.io/empty-dir"
    CONFIG_MAP: Final = "kubernetes.io/configmap"
    SECRET: Final = "kubernetes.io/secret"  # noqa: S105 - a plugin's name
    DOWNWARD_API: Final = "kubernetes.io/downward-api"
    PROJECTED: Final = "kubernetes.io/projected"
    IMAGE: Final = "kubernetes.io/image"
    GIT_REPO: Final = "kubernetes.io/git-repo"

    # those that a CSI driver has taken over
    AWS_EBS: Final = "kubernetes.io/aws-ebs"
    AZURE_DISK: Final = "kubernetes.io/azure-disk"
    AZURE_FILE: Final = "kubernetes.io/azure-file"
    CINDER: Final = "kubernetes.io/cinder"
    GCE_PD: Final = "kubernetes.io/gce-pd"
    PORTWORX: Final = "kubernetes.io/portworx-volume"
    VSPHERE: Final = "kubernetes.io/vsphere-volume"

    # those that left Kubernetes
    CEPHFS: Final = "kubernetes.io/cephfs"
    FLOCKER: Final = "kubernetes.io/flocker"
    GLUSTERFS: Final = "kubernetes.io/glusterfs"
    PHOTON: Final = "kubernetes.io/photon-pd"
    QUOBYTE: Final = "kubernetes.io/quobyte"
    RBD: Final = "kubernetes.io/rbd"  # translated for a driver too, but that is not on
    SCALE_IO: Final = "kubernetes.io/scaleio"
    STORAGE_OS: Final = "kubernetes.io/storageos"


class Parameter:
    """Keys that sidecars and the node pass to a driver, and their reserved prefix."""

    CSI_PREFIX: Final = "csi.storage.k8s.io/"
    FS_TYPE: Final = "csi.storage.k8s.io/fstype"
    CLAIM_NAME: Final = "csi.storage.k8s.io/pvc/name"
    CLAIM_NAMESPACE: Final = "csi.storage.k8s.io/pvc/namespace"
    VOLUME_NAME: Final = "csi.storage.k8s.io/pv/name"
    SNAPSHOT_NAME: Final = "csi.storage.k8s.io/volumesnapshot/name"
    SNAPSHOT_NAMESPACE: Final = "csi.storage.k8s.io/volumesnapshot/namespace"
    SNAPSHOT_CONTENT_NAME: Final = "csi.storage.k8s.io/volumesnapshotcontent/name"
    GROUP_SNAPSHOT_NAME: Final = "csi.storage.k8s.io/volumegroupsnapshot/name"
    GROUP_SNAPSHOT_NAMESPACE: Final = "csi.storage.k8s.io/volumegroupsnapshot/namespace"
    GROUP_SNAPSHOT_CONTENT_NAME: Final = "csi.storage.k8s.io/volumegroupsnapshotcontent/name"
    POD_NAME: Final = "csi.storage.k8s.io/pod.name"
    POD_NAMESPACE: Final = "csi.storage.k8s.io/pod.namespace"
    POD_UID: Final = "csi.storage.k8s.io/pod.uid"
    SERVICE_ACCOUNT: Final = "csi.storage.k8s.io/serviceAccount.name"
    SERVICE_ACCOUNT_TOKENS: Final = "csi.storage.k8s.io/serviceAccount.tokens"
    EPHEMERAL: Final = "csi.storage.k8s.io/ephemeral"
    PROVISIONER_IDENTITY: Final = "storage.kubernetes.io/csiProvisionerIdentity"
