"""What a pod is told about itself, letter by letter."""

import re
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mooring.model.pod import Pod
from mooring.model.pod_volume import ResourceRef
from mooring.plugins.downward_values import field_value, listed, quoted, resource_value
from tests.unit.plugins.objects import a_told_pod
from tests.unit.plugins.world import POD_UID, a_container, a_pod

POD = a_told_pod(
    labels={"app": "web", "tier": "", "example.com/zone": "b"},
    annotations={"Note": 'he said "hi"\nand left', "a": "1"},
)

FIELDS = {
    "metadata.name": "web",
    "metadata.namespace": "default",
    "metadata.uid": POD_UID,
    "metadata.labels": 'app="web"\nexample.com/zone="b"\ntier=""',
    "metadata.annotations": 'Note="he said \\"hi\\"\\nand left"\na="1"',
    "metadata.labels['app']": "web",
    "metadata.labels['example.com/zone']": "b",
    "metadata.labels['nobody']": "",
    "metadata.annotations['Note']": 'he said "hi"\nand left',
    "metadata.annotations['note']": "",
}


@pytest.mark.parametrize(("path", "value"), FIELDS.items(), ids=[*FIELDS])
def test_fields(path: str, value: str) -> None:
    assert field_value(POD, path) == value


def test_a_pod_without_labels_has_an_empty_file() -> None:
    assert field_value(a_pod(), "metadata.labels") == ""


NO_FIELDS = {
    "spec.nodeName": "unsupported fieldPath: spec.nodeName",
    "metadata": "unsupported fieldPath: metadata",
    "": "unsupported fieldPath: ",
    "['app']": "unsupported fieldPath: ['app']",
    "metadata.labels[']": "unsupported fieldPath: metadata.labels[']",
    "metadata.name['x']": "fieldPath \"metadata.name['x']\" does not support subscript",
    "metadata.labels['']": "invalid key subscript in metadata.labels['']: name part must be",
    "metadata.labels['a b']": "invalid key subscript in metadata.labels['a b']: name part must",
    "metadata.annotations['a[b']": "invalid key subscript in metadata.annotations['a[b']: name",
}


@pytest.mark.parametrize(("path", "text"), NO_FIELDS.items(), ids=[*NO_FIELDS])
def test_fields_that_there_are_not(path: str, text: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011  the text is compared
        field_value(POD, path)
    assert str(refused.value).startswith(text)


QUOTED = {  # the right side was printed by Go
    "plain": '"plain"',
    '"quotes" and \\': '"\\"quotes\\" and \\\\"',
    "line\nfeed": '"line\\nfeed"',
    "\a\b\f\n\r\t\v": '"\\a\\b\\f\\n\\r\\t\\v"',
    "\x00\x1b\x1f\x7f": '"\\x00\\x1b\\x1f\\x7f"',
    "\x80\x9f\xa0\xad": '"\\u0080\\u009f\\u00a0\\u00ad"',
    "é ü 日本 😀": '"é ü 日本 😀"',
    "\u2028\u200b\ufeff\u3000": '"\\u2028\\u200b\\ufeff\\u3000"',
    "\ue000\U000e0001\U0010ffff": '"\\ue000\\U000e0001\\U0010ffff"',
    "'single'": "\"'single'\"",
}


@pytest.mark.parametrize(("text", "shown"), QUOTED.items(), ids=[ascii(text) for text in QUOTED])
def test_quoting(text: str, shown: str) -> None:
    assert quoted(text) == shown


TEXTS = st.text(st.characters(codec="utf-8"))


ESCAPE = re.compile(r"\\(?:x(..)|u(.{4})|U(.{8})|(.))")
LETTERS = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))


def unquoted(shown: str) -> str:
    def meant(found: re.Match[str]) -> str:
        code = found[1] or found[2] or found[3]
        return chr(int(code, 16)) if code else LETTERS.get(found[4], found[4])

    return ESCAPE.sub(meant, shown[1:-1])


@given(TEXTS)
def test_what_is_quoted_is_one_line_and_can_be_read_back(text: str) -> None:
    shown = quoted(text)
    assert len(shown.splitlines()) == 1
    assert unquoted(shown) == text


@given(st.dictionaries(st.text("abc/.-", min_size=1), TEXTS, max_size=6))
def test_one_entry_a_line_by_key(entries: Mapping[str, str]) -> None:
    lines = listed(entries).split("\n") if entries else []
    assert [line.partition("=")[0] for line in lines] == sorted(entries)


MAIN = a_container(
    "main",
    requests={"cpu": "250m", "memory": "64Mi", "hugepages-2Mi": "4Mi"},
    limits={"cpu": "1500m", "memory": "1Gi", "ephemeral-storage": "0", "hugepages-2Mi": "4Mi"},
)
NODE = {"cpu": "3500m", "memory": "8Gi", "ephemeral-storage": "100Gi", "hugepages-1Gi": "2Gi"}

RESOURCES = {
    "cores are rounded up": (("limits.cpu", "main", "1"), "2"),
    "no divisor is one": (("limits.cpu", "main", "0"), "2"),
    "thousandths of a core": (("limits.cpu", "main", "1m"), "1500"),
    "a request of cores": (("requests.cpu", "main", "1m"), "250"),
    "bytes": (("limits.memory", "main", "1"), "1073741824"),
    "binary units": (("limits.memory", "main", "1Mi"), "1024"),
    "decimal units are rounded up": (("limits.memory", "main", "1M"), "1074"),
    "less than one unit is one": (("requests.memory", "main", "1Gi"), "1"),
    "a divisor below a byte is a byte": (("requests.memory", "main", "1m"), "67108864"),
    "huge pages": (("requests.hugepages-2Mi", "main", "1Mi"), "4"),
    "a limit of huge pages": (("limits.hugepages-2Mi", "main", "0"), "4194304"),
    "a request that was not made is nothing": (("requests.ephemeral-storage", "main", "1"), "0"),
    "a limit of nothing is all that the node has": (
        ("limits.ephemeral-storage", "main", "1Gi"),
        "100",
    ),
    "no limit is all that the node has": (("limits.memory", "first", "1Gi"), "8"),
    "no limit of cores is all that the node has": (("limits.cpu", "first", "1m"), "3500"),
    "huge pages of the node are nobody's": (("limits.hugepages-1Gi", "first", "1"), "0"),
}


def a_pod_with_resources() -> Pod:
    pod = a_pod(MAIN)
    return replace(pod, spec=replace(pod.spec, init_containers=(a_container("first"),)))


@pytest.mark.parametrize(("ref", "value"), RESOURCES.values(), ids=[*RESOURCES])
def test_resources(ref: tuple[str, str, str], value: str) -> None:
    assert resource_value(ResourceRef(*ref), a_pod_with_resources(), NODE) == value


def test_a_node_that_does_not_say_has_nothing() -> None:
    ref = ResourceRef("limits.memory", "first")
    assert resource_value(ref, a_pod_with_resources(), {}) == "0"


@pytest.mark.parametrize(
    ("resource", "container", "text"),
    [
        ("limits.cpu", "nobody", "container nobody not found"),
        (
            "limits.example.com/gpu",
            "main",
            "unsupported container resource : limits.example.com/gpu",
        ),
        ("cpu", "main", "unsupported container resource : cpu"),
        ("most.cpu", "main", "unsupported container resource : most.cpu"),
    ],
)
def test_resources_that_there_are_not(resource: str, container: str, text: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011  the text is compared
        resource_value(ResourceRef(resource, container), a_pod_with_resources(), NODE)
    assert str(refused.value) == text
