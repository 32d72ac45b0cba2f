"""Defaults of a pod: of its spec, containers and volumes."""

from collections.abc import Iterable

from mooring.apiserver.kinds.claim import default_spec
from mooring.apiserver.kinds.volume_sources import default_sources
from mooring.model.document import Doc

_SPEC = {
    "restartPolicy": "Always",
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
}
_GRACE_SECONDS = 30
_FILE_MODE = 0o644
_TOKEN_SECONDS = 3600
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_HOOKS = ("postStart", "preStop")

_SOURCES_WITH_FILES = ("secret", "configMap", "downwardAPI", "projected")


def defaults(doc: Doc) -> None:
    spec = doc.setdefault("spec", {})
    default_pod_spec(spec)
    for container in _containers(spec):
        _default_requests(container)
    spec.setdefault("enableServiceLinks", True)
    if spec.get("hostNetwork"):
        _default_host_ports(spec)
    if status := doc.get("status"):
        _default_addresses(status)


def default_pod_spec(spec: Doc) -> None:
    """What holds for templates of pods, too."""
    _default_spec(spec)
    for container in _containers(spec):
        _default_container(container)
    for volume in spec.get("volumes", ()):
        _default_volume(volume)


def _default_spec(spec: Doc) -> None:
    for field, value in _SPEC.items():
        if not spec.get(field):
            spec[field] = value
    # The old name of the account's field is kept in step, for old clients.
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    spec.setdefault("securityContext", {})
    if spec.setdefault("terminationGracePeriodSeconds", _GRACE_SECONDS) < 0:
        spec["terminationGracePeriodSeconds"] = 1


def _containers(spec: Doc) -> Iterable[Doc]:
    yield from spec.get("containers", ())
    yield from spec.get("initContainers", ())
    yield from spec.get("ephemeralContainers", ())


def _default_container(container: Doc) -> None:
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = pull_policy(container.get("image", ""))
    if not container.get("terminationMessagePath"):
        container["terminationMessagePath"] = "/dev/termination-log"
    if not container.get("terminationMessagePolicy"):
        container["terminationMessagePolicy"] = "File"
    container.setdefault("resources", {})
    for port in container.get("ports", ()):
        if not port.get("protocol"):
            port["protocol"] = "TCP"
    for variable in container.get("env", ()):
        if source := variable.get("valueFrom"):
            _default_field_ref(source)
    for field in _PROBES:
        if (probe := container.get(field)) is not None:
            _default_probe(probe)
    lifecycle = container.get("lifecycle", {})
    for field in _HOOKS:
        _default_http(lifecycle.get(field, {}))


def _default_requests(container: Doc) -> None:
    """A resource with only a limit gets a request of the same amount."""
    resources = container["resources"]
    if limits := resources.get("limits"):
        resources["requests"] = {**limits, **resources.get("requests", {})}


def pull_policy(image: str) -> str:
    """Images that may change under their name are asked for every time."""
    name = image.rpartition("/")[2]
    if "@" in name:
        name, _, _ = name.partition("@")
        return "Always" if name.endswith(":latest") else "IfNotPresent"
    _, _, tag = name.partition(":")
    return "Always" if tag in ("", "latest") else "IfNotPresent"


def _default_probe(probe: Doc) -> None:
    for field, value in _PROBE.items():
        if not probe.get(field):
            probe[field] = value
    _default_http(probe)
    if (grpc := probe.get("grpc")) is not None:
        grpc.setdefault("service", "")


def _default_http(handler: Doc) -> None:
    if (action := handler.get("httpGet")) is not None:
        if not action.get("path"):
            action["path"] = "/"
        if not action.get("scheme"):
            action["scheme"] = "HTTP"


def _default_field_ref(holder: Doc) -> None:
    reference = holder.get("fieldRef")
    if reference is not None and not reference.get("apiVersion"):
        reference["apiVersion"] = "v1"


def _default_host_ports(spec: Doc) -> None:
    for field in ("containers", "initContainers"):
        for container in spec.get(field, ()):
            for port in container.get("ports", ()):
                if not port.get("hostPort") and "containerPort" in port:
                    port["hostPort"] = port["containerPort"]


def _default_volume(volume: Doc) -> None:
    if not volume.keys() - {"name"}:
        volume["emptyDir"] = {}
        return
    default_sources(volume)
    for name in _SOURCES_WITH_FILES:
        if name in volume:
            volume[name].setdefault("defaultMode", _FILE_MODE)
    for item in volume.get("downwardAPI", {}).get("items", ()):
        _default_field_ref(item)
    for projection in volume.get("projected", {}).get("sources", ()):
        for item in projection.get("downwardAPI", {}).get("items", ()):
            _default_field_ref(item)
        if (token := projection.get("serviceAccountToken")) is not None:
            token.setdefault("expirationSeconds", _TOKEN_SECONDS)
    if template := volume.get("ephemeral", {}).get("volumeClaimTemplate"):
        default_spec(template.setdefault("spec", {}))
    if (image := volume.get("image")) is not None and not image.get("pullPolicy"):
        image["pullPolicy"] = pull_policy(image.get("reference", ""))


def _default_addresses(status: Doc) -> None:
    """`podIP` and the first of `podIPs` are one thing; the older field decides."""
    first, addresses = status.get("podIP"), status.get("podIPs")
    if first and (not addresses or addresses[0].get("ip") != first):
        status["podIPs"] = [{"ip": first}]
    elif addresses and not first:
        status["podIP"] = addresses[0].get("ip", "")
