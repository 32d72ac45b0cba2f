"""Profiles of AppArmor: which one a container is to have, and whether it can."""

from mooring.model.container import Container, ProfileRef
from mooring.model.pod import Pod

REASON = "AppArmor"
LOCALHOST, DEFAULT, UNCONFINED = "Localhost", "RuntimeDefault", "Unconfined"
NO_DEFAULT = "this node has no default profile; load one and name it with the type Localhost"
# How it was asked for before there was a field.
_ANNOTATION = "container.apparmor.security.beta.kubernetes.io/"
_OLD_WORDS = {"runtime/default": DEFAULT, "unconfined": UNCONFINED}
_OLD_PREFIX = "localhost/"


def wanted(pod: Pod, container: Container) -> ProfileRef | None:
    """The container's own, or the pod's, or what an annotation says."""
    own = container.security_context
    if own is not None and own.app_armor_profile is not None:
        return own.app_armor_profile
    if pod.spec.security_context.app_armor_profile is not None:
        return pod.spec.security_context.app_armor_profile
    word = pod.metadata.annotations.get(f"{_ANNOTATION}{container.name}", "")
    if not word:
        return None
    if word in _OLD_WORDS:
        return ProfileRef(_OLD_WORDS[word])
    return ProfileRef(LOCALHOST, word.removeprefix(_OLD_PREFIX))


def why_not(pod: Pod, *, is_enabled: bool) -> str:
    """Why the pod's profiles cannot be enforced; empty: they can."""
    profiles = [wanted(pod, container) for container in pod.spec.all_containers]
    required = [each for each in profiles if each is not None and each.type != UNCONFINED]
    if not required:
        return ""
    if not is_enabled:
        return "Cannot enforce AppArmor: AppArmor is not enabled on the host"
    for profile in required:
        if profile.type == LOCALHOST and not (profile.localhost_profile or "").strip():
            return "Cannot enforce AppArmor: invalid empty AppArmor profile name"
        if profile.type != LOCALHOST:
            return f"Cannot enforce AppArmor: {NO_DEFAULT}"
    return ""
