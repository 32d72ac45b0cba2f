"""The API server's store on etcd, put together from the command line's settings."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from mooring import log
from mooring.apiserver.documents.etcd_layout import DocumentLayout
from mooring.apiserver.kinds.registry import Kinds
from mooring.apiserver.store.etcd.cluster import Cluster
from mooring.apiserver.store.etcd.member import GrpcMember, TlsFiles, read_credentials
from mooring.apiserver.store.etcd.store import EtcdStore
from mooring.clock import Clock
from mooring.errors import EtcdError, UsageError
from mooring.host.blocking import in_thread
from mooring.host.directory_lock import DirectoryLock
from mooring.host.private_file import make_private_directory
from mooring.stack.config import EtcdSettings
from mooring.stack.etcd_prefix import check_prefix, remember_prefix
from mooring.upkeep.place import DATABASE, ETCD_REVISION

_log = log.get("mooring.etcd")

REMEDY = "see the logs of its members: most of them must run, and reach and trust one another"
START_SECONDS = 20.0  # that etcd has to begin to answer
AGAIN_SECONDS = 1.0


def take_data_dir(directory: Path) -> DirectoryLock:
    """For a server that keeps keys and tokens there, and no objects. Raises: UsageError."""
    make_private_directory(directory)
    lock = DirectoryLock.take(directory / f"{DATABASE}.lock")
    if (directory / DATABASE).exists():
        lock.release()
        raise UsageError(
            f"{directory / DATABASE} holds objects that etcd has not: bring them there with "
            "`mooring migrate --from sqlite --to etcd`, or choose another --data-dir"
        )
    return lock


async def connect(settings: EtcdSettings, clock: Clock) -> Cluster:
    """Raises: UsageError."""
    files = TlsFiles(settings.ca_file, settings.cert_file, settings.key_file)
    credentials = await in_thread(read_credentials, settings.servers, files)
    return Cluster([GrpcMember(url, credentials) for url in settings.servers], clock)


def layout_of(
    kinds: Kinds, prefix: str, defined: Mapping[str, tuple[str, str]] = MappingProxyType({})
) -> DocumentLayout:
    """Custom kinds are looked for when something of them is written: they come and go.

    `defined` are the kind and apiVersion of tables that `kinds` does not know.
    """

    def type_of(table: str) -> tuple[str, str] | None:
        kind = kinds.of_table(table)
        return defined.get(table) if kind is None else (kind.kind, kind.api_version)

    return DocumentLayout(prefix, tuple(kind.store_table for kind in kinds.stored()), type_of)


async def open_etcd(
    settings: EtcdSettings, data_dir: Path, kinds: Kinds, clock: Clock
) -> EtcdStore:
    """Waits a while for an etcd that starts just now. Raises: UsageError, UnreadableValue,
    EtcdError."""
    await in_thread(check_prefix, data_dir, settings.prefix)
    layout = layout_of(kinds, settings.prefix)
    give_up = clock.monotonic() + START_SECONDS
    while True:
        cluster = await connect(settings, clock)
        try:
            store = await EtcdStore.open(
                cluster,
                layout,
                clock,
                data_dir / ETCD_REVISION,
                compaction_interval=settings.compaction_interval,
            )
        except EtcdError as error:
            if clock.monotonic() >= give_up:
                raise EtcdError(f"{error}; {REMEDY}") from error
            _log.warning("waits for etcd", because=error)
        else:
            await in_thread(remember_prefix, data_dir, settings.prefix)
            return store
        await clock.sleep(AGAIN_SECONDS)
