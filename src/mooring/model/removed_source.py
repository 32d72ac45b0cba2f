"""Volume sources whose plugins left Kubernetes, and that Mooring still serves."""

from mooring.model.reference import SecretReference
from mooring.model.wire import Wire


class GlusterfsSource(Wire, frozen=True):
    endpoints: str = ""
    path: str = ""  # the volume's name, and a directory in it
    read_only: bool = False
    endpoints_namespace: str | None = None  # of a persistent volume


class CephfsSource(Wire, frozen=True):
    monitors: tuple[str, ...] = ()
    path: str = ""
    user: str = ""
    secret_file: str = ""
    secret_ref: SecretReference | None = None  # in a pod it has no namespace
    read_only: bool = False


class RbdSource(Wire, frozen=True):
    monitors: tuple[str, ...] = ()
    image: str = ""
    fs_type: str = ""
    pool: str = "rbd"
    user: str = "admin"
    keyring: str = "/etc/ceph/keyring"
    secret_ref: SecretReference | None = None  # in a pod it has no namespace
    read_only: bool = False


class QuobyteSource(Wire, frozen=True):
    registry: str = ""
    volume: str = ""
    read_only: bool = False
    user: str = ""
    group: str = ""
    tenant: str = ""
