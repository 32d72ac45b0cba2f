"""Where leases of sidecars are: where those of kubernetes-csi are, or both would work at once."""

from pathlib import Path

from mooring.client.kubeconfig import Surroundings, find_endpoint

POD_NAMESPACE = "POD_NAMESPACE"


def find_lease_namespace(asked_for: str, kubeconfig: Path | None, around: Surroundings) -> str:
    """What was asked for; else the namespace of the pod that this runs in, as upstream: by
    $POD_NAMESPACE, then by its service account; else that of the kubeconfig's context.

    Raises: UsageError when there is no server to talk to.
    """
    return (
        asked_for
        or around.environment.get(POD_NAMESPACE, "").strip()
        or _namespace_of_account(around)
        or find_endpoint(kubeconfig, around).namespace
    )


def _namespace_of_account(around: Surroundings) -> str:
    try:
        return (around.service_account / "namespace").read_text().strip()
    except OSError:
        return ""  # not in a pod, or nothing is projected into it
