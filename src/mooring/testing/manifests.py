"""Manifests as tests write them: a document, several, YAML or JSON text, or a path."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mooring.model.document import Doc
from mooring.testing.errors import ClusterError

Several = Sequence[Mapping[str, Any]] | str | Path
"""Text with a line break is YAML; any other text is the path of a file or a directory."""

Manifest = Mapping[str, Any] | Several


def documents_of(manifest: Manifest) -> list[Doc]:
    """Its objects, in order; a List is its items. Raises: ClusterError."""
    documents = [doc for each in _parsed(manifest) for doc in _items(each)]
    for doc in documents:
        _check(doc)
    return documents


def _parsed(manifest: Manifest) -> Iterator[Doc]:
    match manifest:
        case Path():
            yield from _of_path(manifest)
        case str() if "\n" in manifest or manifest.lstrip().startswith("{"):
            yield from _of_text(manifest, "the manifest")
        case str():
            yield from _of_path(Path(manifest))
        case Mapping():
            yield dict(manifest)
        case _:
            for each in manifest:
                yield from _parsed(each)


def _of_path(path: Path) -> Iterator[Doc]:
    files = [path]
    if path.is_dir():
        files = sorted(one for one in path.iterdir() if one.suffix in (".yaml", ".yml", ".json"))
    for file in files:
        try:
            text = file.read_text()
        except OSError as error:
            raise ClusterError(f"cannot read the manifest {file}: {error.strerror}") from error
        yield from _of_text(text, str(file))


def _of_text(text: str, what: str) -> Iterator[Doc]:
    import yaml

    try:
        for doc in yaml.safe_load_all(text):
            if isinstance(doc, dict):
                yield doc
            elif doc is not None:
                raise ClusterError(f"{what} holds {type(doc).__name__}, where an object belongs")
    except yaml.YAMLError as error:
        raise ClusterError(f"{what} is no YAML: {' '.join(str(error).split())}") from error


def _items(doc: Doc) -> Iterator[Doc]:
    if doc.get("kind") == "List":
        for item in doc.get("items") or ():
            yield dict(item)
    else:
        yield doc


def _check(doc: Doc) -> None:
    for field in ("apiVersion", "kind"):
        if not isinstance(doc.get(field), str):
            raise ClusterError(f"a manifest has no {field}: {str(doc)[:200]}")
    if not isinstance(doc.get("metadata"), Mapping) or not doc["metadata"].get("name"):
        raise ClusterError(f"a {doc['kind']} has no metadata.name, which applying needs")
