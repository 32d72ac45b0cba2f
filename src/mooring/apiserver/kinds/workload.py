"""What the kinds that make pods share: selectors, templates of lasting pods, counts, cells."""

from collections.abc import Iterable

from mooring.apiserver.kinds.cells import NONE
from mooring.apiserver.kinds.contract import Column, Subresource
from mooring.apiserver.kinds.label_selector import validate_label_selector
from mooring.apiserver.kinds.pod.template import template_warnings, validate_template
from mooring.model.document import Doc
from mooring.model.field_error import FieldError, forbidden, invalid, not_supported, required
from mooring.model.names import dns_label
from mooring.model.selector import NOTHING, LabelSelector, from_document

SCALE = Subresource("scale", ("get", "patch", "update"), "Scale", "autoscaling", "v1")
TEMPLATE_COLUMNS = tuple(Column(name, wide=True) for name in ("Containers", "Images", "Selector"))
"""Of `template_cells` and `selector_cell`."""

SELECTOR = "spec.selector"
TEMPLATE = "spec.template"


def not_negative(part: Doc, path: str, *fields: str) -> Iterable[FieldError]:
    for field in fields:
        if (part.get(field) or 0) < 0:
            yield invalid(f"{path}.{field}", part[field], "must be greater than or equal to 0")


def validate_selector(selector: Doc | None, owner: str) -> Iterable[FieldError]:
    """`owner` is the word for the kind in the complaint about an empty selector."""
    if selector is None:
        yield required(SELECTOR)
        return
    yield from validate_label_selector(selector, SELECTOR)
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        yield invalid(SELECTOR, selector, f"empty selector is invalid for {owner}")


def validate_selected_template(spec: Doc, owner: str) -> Iterable[FieldError]:
    """A template of pods that last; `owner` is the kind that complaints name."""
    given = spec.get("selector")
    try:
        selector = NOTHING if given is None else from_document(given)
    except ValueError:
        yield invalid(SELECTOR, given, "invalid label selector")
        return
    yield from validate_lasting_template(spec.get("template") or {}, selector, owner)


def validate_lasting_template(
    template: Doc, selector: LabelSelector, owner: str
) -> Iterable[FieldError]:
    labels = template.get("metadata", {}).get("labels", {})
    if not selector.matches(labels):
        why = "`selector` does not match template `labels`"
        yield invalid(f"{TEMPLATE}.metadata.labels", labels or None, why)
    yield from validate_template(template, TEMPLATE)
    spec = template.get("spec", {})
    policy = spec.get("restartPolicy")
    if policy != "Always":
        yield not_supported(f"{TEMPLATE}.spec.restartPolicy", policy, ("Always",))
    if spec.get("activeDeadlineSeconds") is not None:
        why = f"activeDeadlineSeconds in {owner} is not Supported"
        yield forbidden(f"{TEMPLATE}.spec.activeDeadlineSeconds", why)


def validate_counts(status: Doc, *fields: str) -> Iterable[FieldError]:
    """None of `fields` counts more pods than there are, and none is available but not ready."""
    replicas = status.get("replicas", 0)
    for field in fields:
        if (count := status.get(field, 0)) > replicas:
            yield invalid(f"status.{field}", count, "cannot be greater than status.replicas")
    available = status.get("availableReplicas", 0)
    if available > status.get("readyReplicas", 0):
        why = "cannot be greater than readyReplicas"
        yield invalid("status.availableReplicas", available, why)


def validate_collisions(new: Doc, old: Doc) -> Iterable[FieldError]:
    """`new` and `old` are statuses."""
    now, before = new.get("collisionCount") or 0, old.get("collisionCount") or 0
    if now < before:
        yield invalid("status.collisionCount", now, "cannot be decremented")


def workload_warnings(doc: Doc) -> Iterable[str]:
    if problems := list(dns_label(doc["metadata"].get("name", ""))):
        said = " ".join(problems)
        yield (
            "metadata.name: this is used in Pod names and hostnames, which can result in "
            f"surprising behavior; a DNS label is recommended: [{said}]"
        )
    yield from template_warnings(doc["spec"].get("template", {}), TEMPLATE)


def template_cells(doc: Doc) -> list[str]:
    """The cells of the columns Containers and Images."""
    containers = doc["spec"].get("template", {}).get("spec", {}).get("containers", ())
    return [
        ",".join(container.get("name", "") for container in containers),
        ",".join(container.get("image", "") for container in containers),
    ]


def selector_cell(selector: Doc | None) -> str:
    return selector_text(selector) or NONE


def selector_text(selector: Doc | None) -> str:
    """A LabelSelector in the words of `kubectl get -l`."""
    try:
        return str(from_document(selector or {}))
    except ValueError:
        return "<error>"
