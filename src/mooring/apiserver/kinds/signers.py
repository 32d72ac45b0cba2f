"""Names of signers, and of the trust bundles that belong to them."""

from collections.abc import Callable, Iterable

from mooring.model.field_error import FieldError, invalid, required, show, too_long
from mooring.model.names import dns_label, dns_subdomain

_MOST_IN_DOMAIN = 253
_MOST = 571  # a domain, `/`, a namespace, `.` and a name


def validate_signer_name(name: str, field: str) -> Iterable[FieldError]:
    """Complaints about anything but `example.com/signer-name`."""
    if not name:
        yield required(field)
        return
    domain, _, path = name.partition("/")
    if name.count("/") != 1:
        yield invalid(
            field,
            name,
            "must be a fully qualified domain and path of the form 'example.com/signer-name'",
        )
        return
    if len(domain.encode()) > _MOST_IN_DOMAIN:
        yield too_long(field, _MOST_IN_DOMAIN)
    yield from _validate_parts(domain, dns_label, field)
    if "." not in domain:
        yield invalid(
            field, domain, "should be a domain with at least two segments separated by dots"
        )
    yield from _validate_parts(path, dns_subdomain, field)
    if len(name.encode()) > _MOST:
        yield too_long(field, _MOST)


def _validate_parts(
    text: str, rule: Callable[[str], Iterable[str]], field: str
) -> Iterable[FieldError]:
    """Complaints about the first bad part between dots; those about the rest would look alike."""
    for part in text.split("."):
        if problems := list(rule(part)):
            for problem in problems:
                yield invalid(field, text, f"validating label {show(part)}: {problem}")
            return


def bundle_name_problems(name: str, signer: str, *, is_prefix: bool = False) -> Iterable[str]:
    """What is wrong with the name of a bundle of this signer ("": without a signer).

    A prefix (`generateName`) is checked only in part.
    """
    start = f"{signer.replace('/', ':')}:" if signer else ""
    if not signer and ":" in name:
        return ('ClusterTrustBundle without signer name must not have ":" in its name',)
    if not name.startswith(start):
        return (f"ClusterTrustBundle for signerName {signer} must be named with prefix {start}",)
    own = name.removeprefix(start)
    if is_prefix and len(own) > 1 and own.endswith("-"):
        own = f"{own[:-2]}a"  # something will follow the dash
    return dns_subdomain(own)


def signer_in(bundle_name: str) -> str:
    """The signer whose bundle this must be, by its name; "" without one."""
    return bundle_name.rpartition(":")[0].replace(":", "/")
