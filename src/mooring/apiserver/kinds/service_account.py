"""ServiceAccount: the identity of a pod; its tokens come from the `token` subresource."""

from mooring.apiserver.kinds.contract import Context, Kind, Subresource
from mooring.model.document import Doc


def _keep_only_names(doc: Doc) -> None:
    """A reference to a secret is its name; whatever else was given means nothing."""
    if secrets := doc.get("secrets"):
        doc["secrets"] = [
            {"name": secret["name"]} if "name" in secret else {} for secret in secrets
        ]


def _prepare_create(doc: Doc, _: Context) -> None:
    _keep_only_names(doc)


def _prepare_update(new: Doc, _old: Doc, _: Context) -> None:
    _keep_only_names(new)


SERVICE_ACCOUNT = Kind(
    group="",
    version="v1",
    kind="ServiceAccount",
    plural="serviceaccounts",
    message="core.v1.ServiceAccount",
    namespaced=True,
    short_names=("sa",),
    subresources=(
        Subresource("token", ("create",), "TokenRequest", "authentication.k8s.io", "v1"),
    ),
    prepare_create=_prepare_create,
    prepare_update=_prepare_update,
)
