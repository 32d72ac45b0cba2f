"""PUT namespaces/<n>/finalize: replace spec.finalizers; with none left, the namespace goes."""

from mooring.apiserver.request.message import Response
from mooring.apiserver.request.refusals import check
from mooring.apiserver.verbs.backend import Backend, Call
from mooring.apiserver.verbs.before_write import check_version
from mooring.apiserver.verbs.changing import change
from mooring.apiserver.verbs.decoding import body_options, decode_body
from mooring.apiserver.verbs.update import check_name
from mooring.model.document import Doc


async def finalize(backend: Backend, call: Call) -> Response:
    options = body_options(call, "UpdateOptions")
    doc, warnings = decode_body(call, options.validation)
    metadata = doc.setdefault("metadata", {})
    check_name(call, metadata.get("name", ""))

    async def prepare(old: Doc) -> Doc | None:
        new = {"metadata": {**metadata}}
        check_version(call.kind, old, new, is_put=True)
        finalizers = doc.get("spec", {}).get("finalizers", [])
        changed = {**old, "spec": {**old.get("spec", {}), "finalizers": finalizers}}
        if not finalizers:
            del changed["spec"]["finalizers"]
        check(call.kind, call.name, call.kind.validate(changed))
        return None if changed == old else changed

    return await change(backend, call, prepare, dry_run=options.dry_run, warnings=warnings)
