from mooring.apiserver.kinds.contract import Subresource
from mooring.apiserver.kinds.service_account import SERVICE_ACCOUNT
from mooring.model.document import Doc
from tests.unit.apiserver.kinds.writing import created, merged, updated

SA: Doc = {"metadata": {"name": "sa", "namespace": "default"}}
NAMED = {"kind": "Secret", "name": "s1", "namespace": "other", "uid": "u"}


def test_of_a_secret_only_the_name_is_kept() -> None:
    new = created(SERVICE_ACCOUNT, {**SA, "secrets": [NAMED, {"kind": "Secret"}]})
    assert new["secrets"] == [{"name": "s1"}, {}]


def test_also_on_update() -> None:
    old = created(SERVICE_ACCOUNT, SA)
    new = updated(SERVICE_ACCOUNT, old, merged(old, {"secrets": [NAMED]}))
    assert new["secrets"] == [{"name": "s1"}]


def test_tokens_come_from_a_subresource_of_another_group() -> None:
    assert SERVICE_ACCOUNT.subresources == (
        Subresource("token", ("create",), "TokenRequest", "authentication.k8s.io", "v1"),
    )
