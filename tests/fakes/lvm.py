"""LVM's commands, played in memory: thin volumes of one or more groups. No device appears."""

import json
from collections.abc import Sequence

import msgspec

from mooring.host.lvm import Ran

MIB = 1 << 20
EXTENT = 4 * MIB
_ALONE = {"--yes", "--quiet", "--force", "--snapshot", "--ignoreactivationskip", "--nosuffix"}
_REFUSED = 5


class Killed(BaseException):
    """The driver was killed here."""


class FakeVolume(msgspec.Struct):
    size: int
    tags: list[str] = msgspec.field(default_factory=list)
    pool: str = ""
    origin: str = ""
    kind: str = "thin"
    zero: str = "zero"
    is_open: bool = False
    data_percent: str = ""
    metadata_percent: str = ""
    trouble: str = ""


class FakeLvm:
    """Called with an argument vector, as `host.lvm.run_lvm`."""

    def __init__(self) -> None:
        self.groups: dict[str, dict[str, FakeVolume]] = {}
        self.calls: list[tuple[str, ...]] = []
        self.changes = 0
        self._kill_at: int | None = None
        self._is_killed_after = False
        self._is_dead = False

    def kill_at(self, number: int, *, is_after: bool) -> None:
        """Kill who runs the changing command of this number, before or after its effect."""
        self._kill_at, self._is_killed_after = number, is_after

    def revive(self) -> None:
        self._kill_at, self._is_dead = None, False

    def add_group(self, name: str = "vg0", pool_bytes: int = 512 * MIB) -> None:
        pool = FakeVolume(pool_bytes, kind="thin-pool", data_percent="0.00")
        self.groups[name] = {"pool": pool}

    def volumes(self, group: str = "vg0") -> dict[str, FakeVolume]:
        """Without the pools."""
        found = self.groups[group].items()
        return {name: one for name, one in found if one.kind != "thin-pool"}

    def __call__(self, argv: Sequence[str]) -> Ran:
        if self._is_dead:  # the dead do not clean up
            raise Killed
        self.calls.append(tuple(argv))
        given, words = _parse(argv[1:])
        if argv[0] in {"vgs", "lvs"}:
            return self._report(argv[0], words[0])
        self.changes += 1
        self._is_dead = self._kill_at == self.changes
        if self._is_dead and not self._is_killed_after:
            raise Killed
        ran = getattr(self, f"_{argv[0]}")(given, words[0])
        if self._is_dead:
            raise Killed
        return ran if isinstance(ran, Ran) else Ran(0, "")

    def _report(self, command: str, name: str) -> Ran:
        group = self.groups.get(name)
        if group is None:
            return Ran(_REFUSED, "", f'  Volume group "{name}" not found\n')
        if command == "vgs":
            row = {"vg_name": name, "vg_uuid": f"uuid-{name}", "vg_extent_size": str(EXTENT)}
            return Ran(0, json.dumps({"report": [{"vg": [row]}]}), "  WARNING: something\n")
        rows = [_row(each, one) for each, one in group.items()]
        return Ran(0, json.dumps({"report": [{"lv": rows}]}))

    def _lvcreate(self, given: dict[str, list[str]], where: str) -> Ran | None:
        group, _, origin = where.partition("/")
        volumes, name = self.groups[group], given["--name"][0]
        if name in volumes:
            return Ran(_REFUSED, "", f'  Logical Volume "{name}" already exists\n')
        if origin:
            source = volumes[origin]
            made = FakeVolume(source.size, given["--addtag"], source.pool, origin)
        else:
            size = int(given["--virtualsize"][0].removesuffix("b"))
            assert size % EXTENT == 0
            made = FakeVolume(size, given["--addtag"], given["--thinpool"][0], data_percent="0.00")
        volumes[name] = made
        return None

    def _lvextend(self, given: dict[str, list[str]], where: str) -> Ran | None:
        volume = self._find(where)
        size = int(given["--size"][0].removesuffix("b"))
        if size <= volume.size:
            return Ran(_REFUSED, "", "  New size is not larger than existing size\n")
        volume.size = size
        return None

    def _lvchange(self, given: dict[str, list[str]], where: str) -> None:
        assert given["--activate"] == ["y"]
        self._find(where).data_percent = "0.00"

    def _lvremove(self, given: dict[str, list[str]], where: str) -> Ran | None:
        if self._find(where).is_open:
            return Ran(_REFUSED, "", f"  Logical volume {where} in use.\n")
        group, _, name = where.partition("/")
        del self.groups[group][name]
        return None

    def _find(self, where: str) -> FakeVolume:
        group, _, name = where.partition("/")
        return self.groups[group][name]


def _parse(words: Sequence[str]) -> tuple[dict[str, list[str]], list[str]]:
    given: dict[str, list[str]] = {}
    plain: list[str] = []
    rest = iter(words)
    for word in rest:
        if word in _ALONE:
            given[word] = []
        elif word.startswith("--"):
            given.setdefault(word, []).append(next(rest))
        else:
            plain.append(word)
    return given, plain


def _row(name: str, one: FakeVolume) -> dict[str, str]:
    return {
        "lv_name": name,
        "lv_size": str(one.size),
        "lv_tags": ",".join(one.tags),
        "pool_lv": one.pool,
        "origin": one.origin,
        "segtype": one.kind,
        "zero": one.zero,
        "lv_device_open": "open" if one.is_open else "",
        "data_percent": one.data_percent,
        "metadata_percent": one.metadata_percent,
        "lv_health_status": one.trouble,
    }
