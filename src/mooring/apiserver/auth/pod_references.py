"""What a pod, and a volume behind its claim, refer to. Pure functions over documents."""

from collections.abc import Iterator

import msgspec

from mooring.model.document import Doc

MIRROR_ANNOTATION = "kubernetes.io/config.mirror"

_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
_SECRET_REF_SOURCES = ("cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos")
_NAMESPACE_OF_THE_CLAIM = ("cephfs", "flexVolume", "rbd", "scaleIO", "iscsi", "azureFile")
_NODE_SECRET_REFS = ("nodePublishSecretRef", "nodeStageSecretRef", "nodeExpandSecretRef")


class References(msgspec.Struct, frozen=True):
    """Names in the pod's own namespace."""

    secrets: frozenset[str] = frozenset()
    config_maps: frozenset[str] = frozenset()
    claims: frozenset[str] = frozenset()
    service_accounts: frozenset[str] = frozenset()  # at most one


def references(pod: Doc) -> References:
    """What the pod gives its node access to.

    A mirror pod gives none: nodes create those, and may not grant themselves anything.
    """
    if is_mirror(pod):
        return References()
    spec = pod.get("spec") or {}
    return References(
        secrets=frozenset(_secrets(spec)),
        config_maps=frozenset(_config_maps(spec)),
        claims=frozenset(name for _, name in claims(pod)),
        service_accounts=frozenset(filter(None, (spec.get("serviceAccountName"),))),
    )


def is_mirror(pod: Doc) -> bool:
    return MIRROR_ANNOTATION in ((pod.get("metadata") or {}).get("annotations") or {})


def claims(pod: Doc) -> Iterator[tuple[Doc, str]]:
    """Each volume that is a claim, with the claim's name."""
    for volume in _list(pod.get("spec") or {}, "volumes"):
        if source := volume.get("persistentVolumeClaim"):
            if name := source.get("claimName"):
                yield volume, name
        elif volume.get("ephemeral") is not None:
            yield volume, f"{pod['metadata']['name']}-{volume['name']}"


def volume_secrets(volume: Doc) -> Iterator[tuple[str, str]]:
    """(namespace, name) of each secret that a node needs to use this PersistentVolume."""
    spec = volume.get("spec") or {}
    for source, ref in _volume_secret_refs(spec):
        name, namespace = ref.get("name"), ref.get("namespace")
        if not namespace and source in _NAMESPACE_OF_THE_CLAIM:
            namespace = (spec.get("claimRef") or {}).get("namespace")
        if name and namespace:
            yield namespace, name


def _volume_secret_refs(spec: Doc) -> Iterator[tuple[str, Doc]]:
    if csi := spec.get("csi"):
        for key in _NODE_SECRET_REFS:
            yield "csi", csi.get(key) or {}
    if azure := spec.get("azureFile"):
        ref = {"name": azure.get("secretName"), "namespace": azure.get("secretNamespace")}
        yield "azureFile", ref
    for source in _SECRET_REF_SOURCES:
        yield source, (spec.get(source) or {}).get("secretRef") or {}


def find_api_reference(pod: Doc) -> str | None:
    """The first API object, by its plural, that the pod cannot run without; None: it needs none."""
    spec = pod.get("spec") or {}
    if spec.get("serviceAccountName"):
        return "serviceaccounts"
    if any(_secrets(spec)):
        return "secrets"
    if any(_config_maps(spec)):
        return "configmaps"
    if spec.get("resourceClaims"):
        return "resourceclaims"
    for volume in _list(spec, "volumes"):
        for source, what in _SOURCES_IN_THE_API.items():
            if volume.get(source) is not None:
                return what
        for part in _list(volume.get("projected") or {}, "sources"):
            for source, what in _PROJECTIONS_OF_THE_API.items():
                if part.get(source) is not None:
                    return what
    return None


_SOURCES_IN_THE_API = {
    "configMap": "configmaps (via configmap volumes)",
    "secret": "secrets (via secret volumes)",
    "csi": "csidrivers (via CSI volumes)",
    "glusterfs": "endpoints (via glusterFS volumes)",
    "persistentVolumeClaim": "persistentvolumeclaims",
    "ephemeral": "persistentvolumeclaims (via ephemeral volumes)",
    "azureFile": "secrets (via azureFile volumes)",
}

_PROJECTIONS_OF_THE_API = {
    "configMap": "configmaps (via projected volumes)",
    "secret": "secrets (via projected volumes)",
    "serviceAccountToken": "serviceaccounts (via projected volumes)",
    "clusterTrustBundle": "clustertrustbundles",
    "podCertificate": "podcertificates",
}


def _secrets(spec: Doc) -> Iterator[str]:
    for ref in _list(spec, "imagePullSecrets"):
        yield from _name(ref)
    yield from _named_in_containers(spec, "secretRef", "secretKeyRef")
    for volume in _list(spec, "volumes"):
        for source in _SECRET_REF_SOURCES:
            yield from _name((volume.get(source) or {}).get("secretRef"))
        yield from _name((volume.get("csi") or {}).get("nodePublishSecretRef"))
        yield from _name(volume.get("azureFile"), "secretName")
        yield from _name(volume.get("secret"), "secretName")
        for part in _list(volume.get("projected") or {}, "sources"):
            yield from _name(part.get("secret"))


def _config_maps(spec: Doc) -> Iterator[str]:
    yield from _named_in_containers(spec, "configMapRef", "configMapKeyRef")
    for volume in _list(spec, "volumes"):
        yield from _name(volume.get("configMap"))
        for part in _list(volume.get("projected") or {}, "sources"):
            yield from _name(part.get("configMap"))


def _named_in_containers(spec: Doc, whole: str, one_key: str) -> Iterator[str]:
    for group in _CONTAINERS:
        for container in _list(spec, group):
            for source in _list(container, "envFrom"):
                yield from _name(source.get(whole))
            for variable in _list(container, "env"):
                yield from _name((variable.get("valueFrom") or {}).get(one_key))


def _name(ref: Doc | None, key: str = "name") -> Iterator[str]:
    if ref and (name := ref.get(key)):
        yield name


def _list(holder: Doc, key: str) -> list[Doc]:
    return holder.get(key) or []
