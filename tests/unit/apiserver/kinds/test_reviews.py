import pytest

from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.kinds.reviews import (
    LOCAL_SUBJECT_ACCESS_REVIEW,
    SELF_SUBJECT_ACCESS_REVIEW,
    SELF_SUBJECT_REVIEW,
    SELF_SUBJECT_RULES_REVIEW,
    SUBJECT_ACCESS_REVIEW,
    TOKEN_REVIEW,
)

AUTHENTICATION, AUTHORIZATION = "authentication.k8s.io", "authorization.k8s.io"
REVIEWS: dict[str, tuple[Kind, str, str, bool]] = {
    "who is behind a token": (TOKEN_REVIEW, AUTHENTICATION, "tokenreviews", False),
    "who am I": (SELF_SUBJECT_REVIEW, AUTHENTICATION, "selfsubjectreviews", False),
    "may I": (SELF_SUBJECT_ACCESS_REVIEW, AUTHORIZATION, "selfsubjectaccessreviews", False),
    "what may I": (SELF_SUBJECT_RULES_REVIEW, AUTHORIZATION, "selfsubjectrulesreviews", False),
    "may they": (SUBJECT_ACCESS_REVIEW, AUTHORIZATION, "subjectaccessreviews", False),
    "may they, here": (
        LOCAL_SUBJECT_ACCESS_REVIEW,
        AUTHORIZATION,
        "localsubjectaccessreviews",
        True,
    ),
}


@pytest.mark.parametrize(("kind", "group", "plural", "namespaced"), REVIEWS.values(), ids=REVIEWS)
def test_a_question_is_asked_by_creating_it(
    kind: Kind, group: str, plural: str, *, namespaced: bool
) -> None:
    assert kind.verbs == ("create",)
    assert (kind.group, kind.version, kind.plural) == (group, "v1", plural)
    assert kind.namespaced == namespaced
    assert kind.message == f"{group.partition('.')[0]}.v1.{kind.kind}"
