"""The scale of a workload: its numbers are in `spec.replicas` and `status.replicas`."""

from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.kinds.workload import selector_text
from mooring.apiserver.verbs.before_write import check_version
from mooring.apiserver.verbs.scale import MERGE_PATCH, STRATEGIC, scale_document, scale_verbs
from mooring.errors import UnsupportedMedia
from mooring.model.document import Doc


class _Workload:
    merges: tuple[str, ...] = (MERGE_PATCH, STRATEGIC)

    def unsupported(self) -> UnsupportedMedia:
        return UnsupportedMedia("415: Unsupported Media Type", details={})

    def scale_of(self, _: Kind, doc: Doc) -> Doc:
        spec = doc["spec"]
        current = doc.get("status", {}).get("replicas", 0)
        selector = _selector_text(spec.get("selector") or {})
        return scale_document(doc, spec.get("replicas", 0), current, selector)

    def before(self, _: Kind, doc: Doc) -> Doc:
        return doc

    def check(self, kind: Kind, old: Doc, scale: Doc) -> None:
        said = {"metadata": dict(scale.get("metadata", {}))}
        check_version(kind, old, said, is_put=True)

    def scaled(self, _: Kind, old: Doc, replicas: int) -> Doc:
        spec = {**old["spec"], "replicas": replicas}
        return {**old, "metadata": dict(old["metadata"]), "spec": spec}


def _selector_text(selector: Doc) -> str:
    """A replication controller has a map of labels, all others have a LabelSelector."""
    if all(isinstance(value, str) for value in selector.values()):
        selector = {"matchLabels": selector}
    return selector_text(selector)


ON_SCALE = scale_verbs(_Workload())
