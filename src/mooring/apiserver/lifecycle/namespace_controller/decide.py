"""The default objects of a namespace, and its status and finalizer while it is deleted. Pure."""

from collections.abc import Mapping, Sequence

from mooring.model.document import Doc

FINALIZER = "kubernetes"
ROOT_CA = "kube-root-ca.crt"
ACCOUNT = "default"


def default_objects(authority: str) -> tuple[tuple[str, Doc], ...]:
    """(plural, document) of the objects that every namespace has."""
    return (
        ("serviceaccounts", {"metadata": {"name": ACCOUNT}}),
        (
            "configmaps",
            {
                "metadata": {
                    "name": ROOT_CA,
                    "annotations": {
                        "kubernetes.io/description": "Contains a CA bundle that can be used to "
                        "verify the API server from inside the cluster."
                    },
                },
                "data": {"ca.crt": authority},
            },
        ),
    )


def emptied(namespace: Doc) -> Doc:
    """The namespace, no longer held by the server."""
    spec = dict(namespace.get("spec", {}))
    kept = [f for f in spec.get("finalizers", ()) if f != FINALIZER]
    spec["finalizers"] = kept
    if not kept:
        del spec["finalizers"]
    return {**namespace, "spec": spec}


def with_progress(
    namespace: Doc,
    remaining: Mapping[str, int],
    held: Mapping[str, int],
    now: str,
    troubles: Sequence[str] = (),
) -> Doc:
    """The namespace with conditions that say what is still in it (resource -> count), which
    finalizers (finalizer -> count) keep that from going, and what could not be deleted."""
    content = ", ".join(f"{r} has {n} resource instances" for r, n in sorted(remaining.items()))
    holders = ", ".join(f"{f} in {n} resource instances" for f, n in sorted(held.items()))
    failures = f"{len(troubles)} remaining: {', '.join(troubles)}" if troubles else ""
    wanted = (
        _condition(
            "NamespaceDeletionDiscoveryFailure",
            "",
            ("DiscoveryFailed", "ResourcesDiscovered"),
            "All resources successfully discovered",
        ),
        _condition(
            "NamespaceDeletionGroupVersionParsingFailure",
            "",
            ("GroupVersionParsingFailed", "ParsedGroupVersions"),
            "All legacy kube types successfully parsed",
        ),
        _condition(
            "NamespaceDeletionContentFailure",
            f"Failed to delete all resource types, {failures}" if failures else "",
            ("ContentDeletionFailed", "ContentDeleted"),
            "All content successfully deleted, may be waiting on finalization",
        ),
        _condition(
            "NamespaceContentRemaining",
            f"Some resources are remaining: {content}" if content else "",
            ("SomeResourcesRemain", "ContentRemoved"),
            "All content successfully removed",
        ),
        _condition(
            "NamespaceFinalizersRemaining",
            f"Some content in the namespace has finalizers remaining: {holders}" if holders else "",
            ("SomeFinalizersRemain", "ContentHasNoFinalizers"),
            "All content-preserving finalizers finished",
        ),
    )
    status = dict(namespace.get("status", {}))
    known = {c["type"]: c for c in status.get("conditions", ())}
    for condition in wanted:
        before = known.get(condition["type"])
        changed_at = (
            before["lastTransitionTime"]
            if before and before["status"] == condition["status"]
            else now
        )
        known[condition["type"]] = {**condition, "lastTransitionTime": changed_at}
    return {**namespace, "status": {**status, "conditions": list(known.values())}}


def _condition(kind: str, problem: str, reasons: tuple[str, str], fine: str) -> Doc:
    return {
        "type": kind,
        "status": "True" if problem else "False",
        "reason": reasons[0] if problem else reasons[1],
        "message": problem or fine,
    }
