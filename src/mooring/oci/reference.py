"""What images are called: `busybox`, `quay.io/team/tool:v2`, `host:5000/x@sha256:...`.

The rules and the defaults are those of docker: a name without a host is docker.io's, one of
docker.io's without a folder is in `library/`, and one with neither tag nor digest is `:latest`.
"""

import re

import msgspec

from mooring.oci.refused import ImageRefused

DOCKER = "docker.io"
_OLD_DOCKER = "index.docker.io"
_MOST = 255  # characters of host and path together

_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_HOST = re.compile(rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?")
_FOLDER = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_PATH = re.compile(rf"{_FOLDER}(?:/{_FOLDER})*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}")
_BARE_ID = re.compile(r"[0-9a-f]{64}")


class Reference(msgspec.Struct, frozen=True):
    """A name written out in full."""

    repository: str  # host and path
    tag: str = ""
    digest: str = ""  # of a manifest; then it decides, whatever the tag says

    def __str__(self) -> str:
        if self.digest:
            return f"{self.repository}@{self.digest}"
        return f"{self.repository}:{self.tag}"


def parse(text: str) -> Reference:
    """Read a name as docker does.

    Raises: ImageRefused, saying what is wrong with it.
    """
    if _BARE_ID.fullmatch(text):
        raise _bad(text, "64 hexadecimal digits are an image's id, not its name")
    named, has_digest, digest = text.partition("@")
    if has_digest and not _DIGEST.fullmatch(digest):
        raise _bad(text, "after @ comes sha256: and 64 hexadecimal digits in lower case")
    host, rest = _split_host(named)
    path, has_tag, tag = rest.partition(":")
    if has_tag and not _TAG.fullmatch(tag):
        raise _bad(
            text, "a tag is up to 128 letters, digits, _ . and -, and begins with none of the two"
        )
    if not _HOST.fullmatch(host):
        raise _bad(text, f"{host!r} is no host name")
    if path != path.lower():
        raise _bad(text, "it has to be in lower case")
    if not _PATH.fullmatch(path):
        raise _bad(text, "a name is lower-case letters and digits, joined by . _ - and /")
    if host == DOCKER and "/" not in path:
        path = f"library/{path}"
    repository = f"{host}/{path}"
    if len(repository) > _MOST:
        raise _bad(text, f"it may have {_MOST} characters at most")
    return Reference(repository, tag or ("" if digest else "latest"), digest)


def is_digest(text: str) -> bool:
    """Whether `text` is a digest that can be checked here: `sha256:...` or `sha512:...`."""
    return _DIGEST.fullmatch(text) is not None


def names_registry(text: str) -> bool:
    """Whether a name says whose it is: `quay.io/tool` does, and `busybox` does not."""
    first, has_more, _ = text.partition("@")[0].partition("/")
    return bool(has_more) and _is_host(first)


def _is_host(first: str) -> bool:
    return "." in first or ":" in first or first == "localhost" or first != first.lower()


def _split_host(named: str) -> tuple[str, str]:
    """The host and the rest: the first element is a host if it can be nothing else."""
    first, has_more, rest = named.partition("/")
    if not has_more or not _is_host(first):
        return DOCKER, named
    return (DOCKER if first == _OLD_DOCKER else first), rest


def _bad(text: str, why: str) -> ImageRefused:
    return ImageRefused(f"{text!r} cannot be the name of an image: {why}")
