from mooring.apiserver.documents.partial import partial, partial_list
from mooring.apiserver.request.negotiation import META_V1BETA1

DOC = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}, "spec": {"nodeName": "n"}}


def test_an_object_is_reduced_to_its_metadata() -> None:
    assert partial(DOC) == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"name": "a"},
    }


def test_a_list_keeps_its_own_metadata_and_names_the_kind_of_each_item() -> None:
    assert partial_list([DOC], {"resourceVersion": "7"}, META_V1BETA1) == {
        "kind": "PartialObjectMetadataList",
        "apiVersion": "meta.k8s.io/v1beta1",
        "metadata": {"resourceVersion": "7"},
        "items": [partial(DOC, META_V1BETA1)],
    }
