"""A Ceph of one machine that keeps everything in memory: a monitor, an OSD, an MDS."""

from pathlib import Path

from tests.vm.inside.programs import eventually, sh

PROGRAMS = {
    "ceph-mon": "ceph-mon",
    "ceph-osd": "ceph-osd",
    "ceph-mds": "ceph-mds",
    "rbd": "ceph-common",
    "ceph-fuse": "ceph-fuse",
    "rbd-nbd": "rbd-nbd",
}
MONITOR = "127.0.0.1:6789"
POOL = "rbd"
_DATA = Path("/run/ceph-data")
_FSID, _OSD = "5f6b3d3e-6c1a-4b53-9d6c-0b4f7f9d1c11", "7d2a2c0e-52d8-4b0e-9a43-2d9f0a4f5b77"
_ADDRESSES = "[v2:127.0.0.1:3300,v1:127.0.0.1:6789]"
_PATIENCE = 300  # seconds; how long they may be silent is longer, too, since all is slow here
_CONFIGURATION = f"""[global]
fsid = {_FSID}
mon_host = {_ADDRESSES}
mon_initial_members = a
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 8
mon_allow_pool_size_one = true
osd_objectstore = memstore
memstore_device_bytes = 1073741824
osd_heartbeat_grace = {_PATIENCE}
mds_beacon_grace = {_PATIENCE}
mon_lease = 60
mon_data = {_DATA}/mon
osd_data = {_DATA}/osd
mds_data = {_DATA}/mds
"""
_ALLOWED = {
    "mon.": ("mon 'allow *'",),
    "client.admin": ("mon 'allow *'", "osd 'allow *'", "mds 'allow *'"),
    "osd.0": ("mon 'allow profile osd'", "osd 'allow *'"),
    "mds.a": ("mon 'allow profile mds'", "mds 'allow *'", "osd 'allow *'"),
}
# Each `ceph` would take a quarter of a minute to start: it is given all of its commands at once.
_COMMANDS = f"""osd new {_OSD}
osd pool create {POOL}
osd pool create files
osd pool create names
fs new cephfs names files
"""


class CephCluster:
    def start(self) -> None:
        """After: images and files can be written."""
        sh(f"mkdir -p {_DATA}/mon {_DATA}/osd {_DATA}/mds /etc/ceph /run/ceph /var/log/ceph")
        sh("for m in rbd nbd ceph fuse ext4; do modprobe $m; done")
        Path("/etc/ceph/ceph.conf").write_text(_CONFIGURATION)
        self._make_keys()
        sh(f"monmaptool --create --fsid {_FSID} --addv a '{_ADDRESSES}' {_DATA}/monmap")
        sh(f"ceph-mon --mkfs -i a --monmap {_DATA}/monmap --keyring {_DATA}/keyring")
        sh("ceph-mon -i a", _PATIENCE)
        sh(f"ceph <<'END'\n{_COMMANDS}END", _PATIENCE)
        sh(f"ceph-osd -i 0 --mkfs --osd-uuid {_OSD} --no-mon-config", _PATIENCE)
        sh("ceph-osd -i 0 && ceph-mds -i a", _PATIENCE)
        eventually(lambda: "up:active" in sh("ceph mds stat"), "it is up", _PATIENCE)

    def stop(self) -> None:
        sh("kill $(pidof ceph-mds ceph-osd ceph-mon)")

    @property
    def key(self) -> str:
        return sh(f"ceph-authtool {_DATA}/keyring --print-key -n client.admin")

    def add_image(self, name: str) -> str:
        """With the one feature that every kernel knows."""
        sh(f"rbd create --size 64 --image-feature layering {POOL}/{name}")
        return name

    def _make_keys(self) -> None:
        sh(f"ceph-authtool --create-keyring {_DATA}/keyring")
        for name, allowed in _ALLOWED.items():
            caps = " ".join(f"--cap {each}" for each in allowed)
            sh(f"ceph-authtool {_DATA}/keyring --gen-key -n {name} {caps}")
        owners = {
            "client.admin": "/etc/ceph/ceph.client.admin.keyring",
            "osd.0": f"{_DATA}/osd/keyring",
            "mds.a": f"{_DATA}/mds/keyring",
        }
        for name, path in owners.items():
            sh(f"ceph-authtool {_DATA}/keyring --print-key -n {name} > {_DATA}/key")
            sh(f"ceph-authtool --create-keyring {path} -n {name} --add-key $(cat {_DATA}/key)")
