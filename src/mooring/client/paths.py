"""Where the API serves objects."""

from urllib.parse import quote

from mooring.model.meta import Resource


def path_of(resource: Resource, namespace: str = "", name: str = "", part: str = "") -> str:
    parts = ["/apis", resource.group] if resource.group else ["/api"]
    parts.append(resource.version)
    if resource.namespaced and namespace:
        parts += ["namespaces", quote(namespace, safe="")]
    parts.append(resource.plural)
    if name:
        parts.append(quote(name, safe=""))
    if part:
        parts.append(part)
    return "/".join(parts)
