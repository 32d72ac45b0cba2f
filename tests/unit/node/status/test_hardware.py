"""What the machine tells of itself, and what becomes of what it does not tell."""

from pathlib import Path

from mooring.node.status.hardware import own_addresses, read_amounts, read_identity


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_amounts_are_read_where_the_kernel_tells_them(tmp_path: Path) -> None:
    write(tmp_path / "proc/meminfo", "MemTotal:    2048 kB\nMemAvailable:   1024 kB\nX: 1\n")
    pages = tmp_path / "sys/kernel/mm/hugepages"
    write(pages / "hugepages-2048kB/nr_hugepages", "3\n")
    write(pages / "hugepages-1048576kB/nr_hugepages", "nonsense")
    amounts = read_amounts(tmp_path, tmp_path)
    assert (amounts.memory, amounts.memory_free) == (2048 * 1024, 1024 * 1024)
    assert amounts.huge_pages == {2 << 20: 3 * (2 << 20)}
    assert 0 < amounts.storage_free <= amounts.storage
    assert amounts.cpus >= 1


def test_a_machine_that_hides_everything_has_little_to_tell(tmp_path: Path) -> None:
    amounts, identity = read_amounts(tmp_path / "missing", tmp_path), read_identity(tmp_path)
    assert (amounts.memory, amounts.storage, amounts.huge_pages) == (0, 0, {})
    assert (identity.machine_id, identity.boot_id, identity.os_image) == ("", "", "Linux")


def test_its_identity_is_read_from_where_everyone_looks(tmp_path: Path) -> None:
    write(tmp_path / "etc/os-release", 'NAME="X"\nPRETTY_NAME="X Linux 12 (y)"\n')
    write(tmp_path / "etc/machine-id", "abc\n")
    identity = read_identity(tmp_path)
    assert (identity.os_image, identity.machine_id) == ("X Linux 12 (y)", "abc")
    assert identity.architecture


def test_addresses_are_one_of_each_family_at_most() -> None:
    families = [":" in address for address in own_addresses()]
    assert families in ([], [False], [True], [False, True])
