"""Reviews: questions to the server about who may do what. They are answered, never stored."""

from mooring.apiserver.kinds.contract import Kind

TOKEN_REVIEW = Kind(
    group="authentication.k8s.io",
    version="v1",
    kind="TokenReview",
    plural="tokenreviews",
    message="authentication.v1.TokenReview",
    namespaced=False,
    verbs=("create",),
)

SELF_SUBJECT_REVIEW = Kind(
    group="authentication.k8s.io",
    version="v1",
    kind="SelfSubjectReview",
    plural="selfsubjectreviews",
    message="authentication.v1.SelfSubjectReview",
    namespaced=False,
    verbs=("create",),
)

SELF_SUBJECT_ACCESS_REVIEW = Kind(
    group="authorization.k8s.io",
    version="v1",
    kind="SelfSubjectAccessReview",
    plural="selfsubjectaccessreviews",
    message="authorization.v1.SelfSubjectAccessReview",
    namespaced=False,
    verbs=("create",),
)

SELF_SUBJECT_RULES_REVIEW = Kind(
    group="authorization.k8s.io",
    version="v1",
    kind="SelfSubjectRulesReview",
    plural="selfsubjectrulesreviews",
    message="authorization.v1.SelfSubjectRulesReview",
    namespaced=False,
    verbs=("create",),
)

SUBJECT_ACCESS_REVIEW = Kind(
    group="authorization.k8s.io",
    version="v1",
    kind="SubjectAccessReview",
    plural="subjectaccessreviews",
    message="authorization.v1.SubjectAccessReview",
    namespaced=False,
    verbs=("create",),
)

LOCAL_SUBJECT_ACCESS_REVIEW = Kind(
    group="authorization.k8s.io",
    version="v1",
    kind="LocalSubjectAccessReview",
    plural="localsubjectaccessreviews",
    message="authorization.v1.LocalSubjectAccessReview",
    namespaced=True,
    verbs=("create",),
)
