"""Where Mooring answers otherwise on purpose. docs/decisions/0005 tells more of each reason.

A case that is listed here and does not differ any more fails, so that the list stays true.
"""

from collections.abc import Mapping

_NULL_LISTS = "a list that is required is shown as [], for clients in Python refuse null"
_NO_NEW_VERSION = "what changes nothing leaves the version alone, also right after creation"
_LENIENT_TIMES = "times are accepted with any number of digits, as clients in Python write them"
_ONE_EVENT = "a pod that goes at once is removed in one step, safe from a crash in between"
_NO_LOSS = "text that is not Unicode is refused, not replaced"
_ONLY_JSON = "answers are JSON alone, and whoever takes any application gets it"
_COLUMNS = "the columns that upstream wrote for it, but does not use"
_STATUS_422 = "what is wrong with a binding is the client's fault, not the server's"

_COLLECTED = "theirs has nobody who lets go of what is deleted and leaves its dependents alone"
_SPACES = "theirs compares the data letter by letter, with the spaces of whoever wrote it"

_ALWAYS: Mapping[str, str] = {
    "replication controller: its life, its defaults": _COLLECTED,
    "replication controller: watched": _COLLECTED,
    "revision: its life, its defaults": _SPACES,
    "revision: written again unchanged": _SPACES,
    "revision: versions and uids": _SPACES,
    "revision: deleted together": _SPACES,
    "revision: watched": _SPACES,
    "role created without rules": _NULL_LISTS,
    "cluster role created without rules": _NULL_LISTS,
    "scale: read and put": "who scaled is told with the time of it, as of any other write",
    "pod on a node that is not there": "it is the node that is missing, not the pod",
    "CSI node created without drivers": _NULL_LISTS,
    "CSI node created without a spec": _NULL_LISTS,
    "claim: written again unchanged": _NO_NEW_VERSION,
    "claim updated to the same amount in other units": _NO_NEW_VERSION,
    "claim updated with a status, which is ignored": _NO_NEW_VERSION,
    "lease created with a time of nine digits": _LENIENT_TIMES,
    "lease created with a time of three digits": _LENIENT_TIMES,
    "lease created with a time without a fraction": _LENIENT_TIMES,
    "event created with a time without a fraction": _LENIENT_TIMES,
    "a pod that goes with a grace": _ONE_EVENT,
    "a pod that goes at once": _ONE_EVENT,
    "a body of text that is not UTF-8": _NO_LOSS,
    "a body of a lone surrogate": _NO_LOSS,
    "an answer accepted as any application": _ONLY_JSON,
    "an answer accepted as text alone": _ONLY_JSON,
    "an answer accepted as an unknown view": _ONLY_JSON,
    "pod bound to nothing": _STATUS_422,
    "pod bound to what is no node": _STATUS_422,
    "namespace: a name that is drawn": "the label with the name has the owner of the object",
    "storage capacity: its table, its metadata alone": _COLUMNS,
    "storage capacity: watched": _COLUMNS,
    "node without a taint": "nobody here takes the taint of a new node away again",
    "config map created with an owner twice": "the warning is in Mooring's words",
    "event of events.k8s.io seen through the core": "owners outlive a write in the other version",
    "pod created with an annotation of the past": "what fields replaced is not looked at",
    "secret created for TLS": "keys and certificates are not looked into",
    "a body of very deep nesting": "nesting is refused in other words, and sooner",
    "a body of the same field twice": "the last of two equal fields wins; maps are not merged",
    "a body of YAML with a key twice": "a key that comes twice is told of as in JSON",
    "a body of two YAML documents": "a second document is refused, not ignored",
    "who shows no token is refused": "anonymous requests reach health and version alone",
}

_OLDER_WORDS = "it is refused as in 1.37, in the words of 1.35"
_REQUIRED = "which fields OpenAPI calls required is that of 1.35; what is refused is the same"

_BY_RELEASE: Mapping[str, Mapping[str, str]] = {
    "1.35": {},
    "1.37": {
        "config map created with half an owner": _OLDER_WORDS,
        "config map created with an owner of a bad version": _OLDER_WORDS,
        "config map created with an event as owner": _OLDER_WORDS,
        "an apply of what is no YAML": _OLDER_WORDS,
        "an apply of a list": _OLDER_WORDS,
        "reviews that ask nothing, or too much": _OLDER_WORDS,
        "who may not is not impersonated": _OLDER_WORDS,
        "the schema of apps Deployment": _REQUIRED,
        "the schema of apps ReplicaSet": _REQUIRED,
        "the schema of apps ControllerRevision": _REQUIRED,
        "the schema of apps StatefulSet": _REQUIRED,
        "the schema of apps DaemonSet": _REQUIRED,
        "the schema of rbac.authorization.k8s.io RoleBinding": _REQUIRED,
        "the schema of rbac.authorization.k8s.io ClusterRoleBinding": _REQUIRED,
        "the schema of authentication.k8s.io TokenReview": _REQUIRED,
        "CSI node: its status": "health is told without the feature gate CSIVolumeHealth",
    },
}


def kept(release: str) -> Mapping[str, str]:
    """The reasons by case, where Mooring is compared with that release."""
    return {**_ALWAYS, **_BY_RELEASE[release]}
