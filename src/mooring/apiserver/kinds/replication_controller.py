"""ReplicationController: keeps a number of pods of one template running."""

from collections.abc import Iterable
from typing import Any

from mooring.apiserver.kinds.cells import NONE, age_of, name_of
from mooring.apiserver.kinds.contract import AGE, NAME, Column, Context, Kind, Subresource
from mooring.apiserver.kinds.pod.template import (
    default_template,
    template_warnings,
    validate_template,
)
from mooring.apiserver.kinds.separation import keep_all_but_status, keep_status
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, forbidden, invalid, not_supported, required
from mooring.model.names import dns_label

_TEMPLATE = "spec.template"
_COUNTS = (
    *("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas"),
    "observedGeneration",
)


def _defaults(doc: Doc) -> None:
    spec = doc.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    if not (template := spec.get("template")):
        return
    default_template(template)
    if labels := template.get("metadata", {}).get("labels"):
        if not spec.get("selector"):
            spec["selector"] = dict(labels)
        if not doc.get("metadata", {}).get("labels"):
            doc.setdefault("metadata", {})["labels"] = dict(labels)


def _prepare_create(doc: Doc, _: Context) -> None:
    doc["status"] = {"replicas": 0}


def _validate(doc: Doc) -> Iterable[FieldError]:
    spec = doc["spec"]
    for field in ("minReadySeconds", "replicas"):
        if spec.get(field, 0) < 0:
            yield invalid(f"spec.{field}", spec[field], "must be greater than or equal to 0")
    selector = spec.get("selector")
    if not selector:
        yield required("spec.selector")
    template = spec.get("template")
    if template is None:
        yield required(_TEMPLATE)
        return
    labels = template.get("metadata", {}).get("labels", {})
    if selector and not selector.items() <= labels.items():
        why = "`selector` does not match template `labels`"
        yield invalid(f"{_TEMPLATE}.metadata.labels", labels, why)
    yield from validate_template(template, _TEMPLATE)
    policy = template["spec"].get("restartPolicy")
    if policy != "Always":
        yield not_supported(f"{_TEMPLATE}.spec.restartPolicy", policy, ("Always",))
    if template["spec"].get("activeDeadlineSeconds") is not None:
        why = "activeDeadlineSeconds in ReplicationController is not Supported"
        yield forbidden(f"{_TEMPLATE}.spec.activeDeadlineSeconds", why)


def _validate_status(new: Doc, _: Doc) -> Iterable[FieldError]:
    status = new.get("status", {})
    for field in _COUNTS:
        if status.get(field, 0) < 0:
            yield invalid(f"status.{field}", status[field], "must be greater than or equal to 0")
    replicas = status.get("replicas", 0)
    for field in ("fullyLabeledReplicas", "readyReplicas", "availableReplicas"):
        if (count := status.get(field, 0)) > replicas:
            yield invalid(f"status.{field}", count, "cannot be greater than status.replicas")
    if status.get("availableReplicas", 0) > status.get("readyReplicas", 0):
        yield invalid(
            "status.availableReplicas",
            status.get("availableReplicas", 0),
            "cannot be greater than readyReplicas",
        )


def _warnings(doc: Doc) -> Iterable[str]:
    if problems := list(dns_label(doc["metadata"].get("name", ""))):
        said = " ".join(problems)
        yield (
            "metadata.name: this is used in Pod names and hostnames, which can result in "
            f"surprising behavior; a DNS label is recommended: [{said}]"
        )
    yield from template_warnings(doc["spec"].get("template", {}), _TEMPLATE)


def _row(doc: Doc, now: str) -> list[Any]:
    spec, status = doc["spec"], doc.get("status", {})
    containers = spec.get("template", {}).get("spec", {}).get("containers", ())
    selector = ",".join(f"{key}={value}" for key, value in sorted(spec.get("selector", {}).items()))
    return [
        name_of(doc),
        spec.get("replicas", 0),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        age_of(doc, now),
        ",".join(container.get("name", "") for container in containers),
        ",".join(container.get("image", "") for container in containers),
        selector or NONE,
    ]


def _replicas(doc: Doc) -> str:
    return str(doc.get("status", {}).get("replicas", 0))


REPLICATION_CONTROLLER = Kind(
    group="",
    version="v1",
    kind="ReplicationController",
    plural="replicationcontrollers",
    message="core.v1.ReplicationController",
    namespaced=True,
    short_names=("rc",),
    categories=("all",),
    status=True,
    subresources=(Subresource("scale", ("get", "patch", "update"), "Scale", "autoscaling", "v1"),),
    columns=(
        NAME,
        Column("Desired", type="integer"),
        Column("Current", type="integer"),
        Column("Ready", type="integer"),
        AGE,
        Column("Containers", wide=True),
        Column("Images", wide=True),
        Column("Selector", wide=True),
    ),
    row=_row,
    defaults=_defaults,
    prepare_create=_prepare_create,
    prepare_update=keep_status,
    prepare_status=keep_all_but_status,
    validate=_validate,
    validate_status=_validate_status,
    warnings=_warnings,
    fields={"status.replicas": _replicas},
    generation=True,
    deleted_as_status=True,
    orphans_by_default=True,
)
