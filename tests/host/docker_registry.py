"""Debian's `docker-registry` on loopback, and pushing images to it."""

import base64
import json
import re
import shutil
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urljoin

import pytest

from tests.fakes.image_archives import digest

PROGRAM = "docker-registry"
USER, PASSWORD = "bob", "s3cret"
# bcrypt, the only way in which the registry takes a password
_HTPASSWD = f"{USER}:$2b$04$yqhaEifWqUa5j0O7tFY0/e0psL1oyfCIwJ13cFmzBVoyumGeDzfMW\n"
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_LISTENING = re.compile(r"listening on 127\.0\.0\.1:(\d+)")
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
_CONFIG = """\
version: 0.1
log: {{level: info, formatter: text, accesslog: {{disabled: true}}}}
storage: {{filesystem: {{rootdirectory: {place}/data}}, delete: {{enabled: true}}}}
http: {{addr: "127.0.0.1:0", secret: for-tests}}
auth: {{htpasswd: {{realm: here, path: {place}/htpasswd}}}}
"""


class DockerRegistry:
    def __init__(self, port: int) -> None:
        self.host = f"127.0.0.1:{port}"

    @property
    def docker_config(self) -> str:
        """What `docker login` would write."""
        pair = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        return json.dumps({"auths": {self.host: {"auth": pair}}})

    def push(self, repository: str, tag: str, files: Mapping[str, bytes]) -> str:
        """An image of an OCI layout; the digest of its manifest."""
        found: str = json.loads(files["index.json"])["manifests"][0]["digest"]
        blobs = {digest(data): data for path, data in files.items() if path.startswith("blobs/")}
        manifest = json.loads(blobs[found]) | {"mediaType": _MANIFEST}
        document = json.dumps(manifest).encode()
        for name, data in blobs.items():
            if name != found:
                where = self._ask("POST", f"/v2/{repository}/blobs/uploads/")
                joint = "&" if "?" in where else "?"
                self._ask("PUT", f"{where}{joint}digest={name}", data)
        self._ask("PUT", f"/v2/{repository}/manifests/{tag}", document, _MANIFEST)
        return digest(document)

    def _ask(
        self, method: str, path: str, body: bytes = b"", media: str = "application/octet-stream"
    ) -> str:
        """Where the answer leads to."""
        pair = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        headers = {"Authorization": f"Basic {pair}", "Content-Type": media}
        url = urljoin(f"http://{self.host}", path)
        request = urllib.request.Request(url, body, headers, method=method)  # noqa: S310  loopback
        try:
            with _DIRECT.open(request, timeout=30) as answer:
                return str(answer.headers.get("Location", ""))
        except urllib.error.HTTPError as error:
            pytest.fail(f"{method} {path}: {error.code} {error.read()!r}")


@contextmanager
def docker_registry(place: Path) -> Iterator[DockerRegistry]:
    """One that wants a password. Skips the test where there is none."""
    if shutil.which(PROGRAM) is None:
        pytest.skip(f"install {PROGRAM} to pull from a real registry")
    (place / "htpasswd").write_text(_HTPASSWD)
    config = place / "config.yml"
    config.write_text(_CONFIG.format(place=place))
    program = subprocess.Popen(  # noqa: S603  a test's own words
        [PROGRAM, "serve", str(config)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert program.stderr is not None
    draining = threading.Thread(target=program.stderr.read)
    try:
        port = _port(program.stderr)
        draining.start()
        yield DockerRegistry(port)
    finally:
        program.kill()
        program.wait()
        if draining.is_alive():
            draining.join()
        program.stderr.close()


def _port(told: Iterable[str]) -> int:
    said = []
    for line in told:
        said.append(line)
        found = _LISTENING.search(line)
        if found is not None:
            return int(found.group(1))
    pytest.fail(f"{PROGRAM} did not start: {said}")
