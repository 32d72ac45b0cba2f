"""Names of images, as docker writes and reads them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.oci.reference import Reference, is_digest, parse
from mooring.oci.refused import ImageRefused

SHA = "sha256:" + "0123456789abcdef" * 4
LONG = "sha512:" + "0123456789abcdef" * 8

NAMES = {
    "a word is in docker's library, latest": ("busybox", "docker.io/library/busybox:latest"),
    "a tag is kept": ("busybox:1.36", "docker.io/library/busybox:1.36"),
    "a folder takes the place of the library": ("team/tool", "docker.io/team/tool:latest"),
    "library may be written": ("library/busybox", "docker.io/library/busybox:latest"),
    "docker.io may be written": ("docker.io/busybox", "docker.io/library/busybox:latest"),
    "docker's old host is its new one": ("index.docker.io/a/b", "docker.io/a/b:latest"),
    "a dot makes a host": ("quay.io/tool", "quay.io/tool:latest"),
    "a port makes a host": ("registry:5000/tool", "registry:5000/tool:latest"),
    "a port and a tag": ("registry:5000/tool:v2", "registry:5000/tool:v2"),
    "localhost is a host": ("localhost/tool", "localhost/tool:latest"),
    "capitals make a host": ("Registry/tool", "Registry/tool:latest"),
    "an IPv6 host": ("[2001:db8::1]:5000/tool:x", "[2001:db8::1]:5000/tool:x"),
    "a word with a port is a name with a tag": ("busybox:5000", "docker.io/library/busybox:5000"),
    "other hosts have no library": ("registry.k8s.io/pause:3.9", "registry.k8s.io/pause:3.9"),
    "deep folders": ("quay.io/a/b/c/d", "quay.io/a/b/c/d:latest"),
    "separators within": ("a.b/c_d/e__f/g---h", "a.b/c_d/e__f/g---h:latest"),
    "a digest": (f"busybox@{SHA}", f"docker.io/library/busybox@{SHA}"),
    "a longer digest": (f"busybox@{LONG}", f"docker.io/library/busybox@{LONG}"),
    "a digest decides, whatever the tag": (f"a/b:v1@{SHA}", f"docker.io/a/b@{SHA}"),
    "a tag may have capitals": ("busybox:RC_1.x-y", "docker.io/library/busybox:RC_1.x-y"),
    "an id with its algorithm reads as a name": (SHA, f"docker.io/library/{SHA}"),
}


@pytest.mark.parametrize(("written", "full"), NAMES.values(), ids=NAMES)
def test_written_out(written: str, full: str) -> None:
    assert str(parse(written)) == full


REFUSED = {
    "nothing": ("", "lower-case letters and digits"),
    "capitals in a path": ("Busybox", "lower case"),
    "capitals after a host": ("quay.io/Tool", "lower case"),
    "a bare id": ("0123456789abcdef" * 4, "id, not its name"),
    "an empty tag": ("busybox:", "a tag is"),
    "a tag with a slash": ("quay.io/a:b/c", "a tag is"),
    "a tag that begins with a dot": ("busybox:.x", "a tag is"),
    "a tag of 129 letters": (f"busybox:{'x' * 129}", "a tag is"),
    "a short digest": ("busybox@sha256:abc", "after @"),
    "an unknown digest": ("busybox@md5:" + "0" * 32, "after @"),
    "a digest in capitals": (f"busybox@{SHA.upper()}", "after @"),
    "an empty element": ("a//b", "joined by"),
    "a way up": ("quay.io/../etc", "joined by"),
    "a leading slash": ("/etc", "joined by"),
    "a trailing slash": ("quay.io/", "joined by"),
    "three underscores": ("a___b", "joined by"),
    "a separator at the end": ("busybox-", "joined by"),
    "a blank": ("busy box", "joined by"),
    "a newline at the end": ("busybox\n", "joined by"),
    "a newline after a tag": ("busybox:v1\n", "a tag is"),
    "no host before a port": (":5000/x", "no host name"),
    "a host with an underscore": ("a_b.c/x", "no host name"),
    "more than 255 characters": (f"quay.io/{'x' * 248}", "255 characters"),
}


@pytest.mark.parametrize(("written", "why"), REFUSED.values(), ids=REFUSED)
def test_refused(written: str, why: str) -> None:
    with pytest.raises(ImageRefused, match=why) as refused:
        parse(written)
    assert "\n" not in str(refused.value)


hosts = st.sampled_from(("docker.io", "quay.io", "localhost", "r:5000", "Upper", "[::1]:80"))
paths = st.from_regex(r"[a-z0-9]+([._-][a-z0-9]+){0,2}(/[a-z0-9]{1,5}){1,3}", fullmatch=True)
tags = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}", fullmatch=True)


@given(hosts, paths, tags, st.sampled_from(("", SHA)))
def test_a_name_written_out_stays_as_it_is(host: str, path: str, tag: str, digest: str) -> None:
    once = parse(f"{host}/{path}:{tag}{'@' if digest else ''}{digest}")
    assert parse(str(once)) == Reference(once.repository, "" if digest else tag, digest)


@pytest.mark.parametrize(
    ("text", "answer"), [(SHA, True), (LONG, True), (SHA + "0", False), (SHA + "\n", False)]
)
def test_digests_that_can_be_checked(text: str, answer: bool) -> None:  # noqa: FBT001  a column
    assert is_digest(text) is answer
