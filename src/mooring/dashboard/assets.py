"""The files of the page: read once, served by their names and by nothing else."""

import hashlib
from collections.abc import Mapping
from importlib.resources import files

import msgspec

from mooring.dashboard.message import SECURITY, DashboardAnswer

PREFIX = "/ui"
PAGE = "index.html"
_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


class Asset(msgspec.Struct, frozen=True):
    body: bytes
    content_type: str
    etag: str

    def answer(self, known_etag: str) -> DashboardAnswer:
        headers = (*SECURITY, ("Cache-Control", "no-cache"), ("ETag", self.etag))
        if known_etag == self.etag:
            return DashboardAnswer(304, b"", self.content_type, headers)
        return DashboardAnswer(200, self.body, self.content_type, headers)


def load_assets() -> Mapping[str, Asset]:
    """By path, as `/ui/main.js`. A path is looked up in this table, so none leads outside."""
    found: dict[str, Asset] = {}
    for file in files("mooring.dashboard").joinpath("static").iterdir():
        content_type = _TYPES.get(file.name.rpartition(".")[2])
        if content_type is not None:
            body = file.read_bytes()
            etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
            found[f"{PREFIX}/{file.name}"] = Asset(body, content_type, etag)
    page = found[f"{PREFIX}/{PAGE}"]
    return {**found, PREFIX: page, f"{PREFIX}/": page}
