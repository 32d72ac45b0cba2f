"""Reviews: TokenReview, SubjectAccessReview and the like. They are answered, never stored."""

from mooring.apiserver.kinds.contract import Kind


def _review(group: str, kind: str, *, namespaced: bool = False) -> Kind:
    return Kind(
        group=f"{group}.k8s.io",
        version="v1",
        kind=kind,
        plural=f"{kind.lower()}s",
        message=f"{group}.v1.{kind}",
        namespaced=namespaced,
        verbs=("create",),
    )


TOKEN_REVIEW = _review("authentication", "TokenReview")
SELF_SUBJECT_REVIEW = _review("authentication", "SelfSubjectReview")
SELF_SUBJECT_ACCESS_REVIEW = _review("authorization", "SelfSubjectAccessReview")
SELF_SUBJECT_RULES_REVIEW = _review("authorization", "SelfSubjectRulesReview")
SUBJECT_ACCESS_REVIEW = _review("authorization", "SubjectAccessReview")
LOCAL_SUBJECT_ACCESS_REVIEW = _review("authorization", "LocalSubjectAccessReview", namespaced=True)
