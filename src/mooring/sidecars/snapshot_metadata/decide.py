"""Who is answered, and about which snapshot; in upstream's codes and words.

Two answers differ from upstream's. A snapshot that does not exist is NOT_FOUND instead of
UNAVAILABLE, which clients would ask for again and again. And the older snapshot of a difference,
which upstream takes unseen, may belong to no namespace that is closed to the caller.
"""

from collections.abc import Collection, Iterable

from mooring.csi.outcome import Code
from mooring.model.reference import SecretReference
from mooring.model.review import AccessVerdict, TokenVerdict, UserInfo
from mooring.model.secret_template import InvalidTemplate, resolve_secret
from mooring.model.snapshot import Snapshot, SnapshotClass, SnapshotContent
from mooring.sidecars.snapshot_metadata.view import Asked, CallRefused
from mooring.sidecars.snapshotter.parameters import SNAPSHOTTER, Impossible, find_content_secret

_DENIED = "user does not have permissions to perform the operation"


def check_complete(asked: Asked) -> None:
    """Raises: CallRefused when a field is missing."""
    is_delta = asked.base is not None
    snapshot = "targetSnapshotName" if is_delta else "snapshotName"
    wanted = [
        (asked.token, "securityToken is missing"),
        (asked.namespace, "namespace parameter cannot be empty"),
    ]
    if is_delta:
        wanted.append((asked.base or "", "baseSnapshotId cannot be empty"))
    wanted.append((asked.snapshot, f"{snapshot} cannot be empty"))
    for value, text in wanted:
        if not value:
            raise CallRefused(Code.INVALID_ARGUMENT, text)
    if asked.starting_offset < 0 or asked.max_results < 0:
        text = "startingOffset and maxResults cannot be negative"
        raise CallRefused(Code.INVALID_ARGUMENT, text)


def get_user(verdict: TokenVerdict, audience: str) -> UserInfo:
    """The owner of the token, which must be meant for this service. Raises: CallRefused."""
    if not verdict.authenticated or audience not in verdict.audiences:
        raise CallRefused(Code.UNAUTHENTICATED, "unauthenticated user")
    return verdict.user


def check_allowed(verdict: AccessVerdict) -> None:
    """Raises: CallRefused."""
    if not verdict.allowed:
        raise CallRefused(Code.PERMISSION_DENIED, f"{_DENIED}: {verdict.reason}")


def get_content_name(snapshot: Snapshot) -> str:
    """Raises: CallRefused when it is not ready."""
    if not snapshot.is_ready:
        text = f"the VolumeSnapshot is not yet ready, name: {snapshot.name}"
        raise CallRefused(Code.UNAVAILABLE, text)
    if not snapshot.content_name:
        missing = "boundVolumeSnapshotContentName is not set in VolumeSnapshot status"
        raise CallRefused(Code.UNAVAILABLE, f"{missing}, name: {snapshot.name}")
    return snapshot.content_name


def get_handle(snapshot: Snapshot, content: SnapshotContent, driver: str) -> str:
    """The driver's handle of the snapshot. Raises: CallRefused."""
    ref = content.spec.volume_snapshot_ref
    if (ref.namespace, ref.name) != (snapshot.namespace, snapshot.name) or (
        ref.uid and ref.uid != snapshot.uid
    ):  # whoever can write a status must not reach the snapshots of others
        text = f"VolumeSnapshotContent '{content.name}' belongs to another VolumeSnapshot"
        raise CallRefused(Code.FAILED_PRECONDITION, text)
    if content.spec.driver != driver:
        text = f"VolumeSnapshot '{snapshot.name}' does not belong to the CSI driver '{driver}'"
        raise CallRefused(Code.INVALID_ARGUMENT, text)
    if not content.is_ready:
        text = f"the VolumeSnapshotContent is not yet ready, name: {content.name}"
        raise CallRefused(Code.UNAVAILABLE, text)
    if not content.snapshot_handle:
        missing = "snapshotHandle is not set in VolumeSnapshotContent status"
        raise CallRefused(Code.UNAVAILABLE, f"{missing}, name: {content.name}")
    return content.snapshot_handle


def choose_default_class(classes: Iterable[SnapshotClass], driver: str) -> SnapshotClass | None:
    """For a snapshot that names none. Raises: CallRefused."""
    defaults = [each for each in classes if each.is_default and each.driver == driver]
    if len(defaults) > 1:
        text = f"multiple default VolumeSnapshotClasses are set for the CSI driver '{driver}'"
        raise CallRefused(Code.UNAVAILABLE, text)
    return defaults[0] if defaults else None


def find_secret(
    snapshot: Snapshot, content: SnapshotContent, chosen: SnapshotClass | None
) -> SecretReference | None:
    """That of the class, else what the content notes. Raises: CallRefused."""
    parameters = {} if chosen is None else chosen.parameters
    name, namespace = (
        parameters.get(key) for key in (SNAPSHOTTER.name_key, SNAPSHOTTER.namespace_key)
    )
    known = {
        "volumesnapshotcontent.name": content.name,
        "volumesnapshot.namespace": snapshot.namespace,
    }
    try:
        if name is None and namespace is None:
            return find_content_secret(content) if chosen is None else None
        if not name or not namespace:
            raise _bad_secret("its name and its namespace must both be given")
        return resolve_secret(
            name, namespace, {**known, "volumesnapshot.name": snapshot.name}, known
        )
    except (InvalidTemplate, Impossible) as error:
        raise _bad_secret(str(error)) from error


def namespaces_to_ask(contents: Collection[SnapshotContent], own: str) -> tuple[str, ...]:
    """The other namespaces whose snapshots have the handle of the older one."""
    found = {each.spec.volume_snapshot_ref.namespace or "" for each in contents}
    return tuple(sorted(found - {own, ""}))


def _bad_secret(why: str) -> CallRefused:
    text = f"invalid snapshotter secret parameters in VolumeSnapshotClass: {why}"
    return CallRefused(Code.UNAVAILABLE, text)
