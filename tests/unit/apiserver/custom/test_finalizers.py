from mooring.apiserver.custom.finalizers import finalizer_warnings
from tests.fakes.definitions import Doc

END = "to avoid accidental conflicts with other finalizer writers"


def held(*finalizers: str) -> Doc:
    return {"metadata": {"finalizers": list(finalizers)}}


def test_a_finalizer_without_a_path_is_warned_of() -> None:
    new = held("mine", "example.com", "example.com/fine", "foregroundDeletion")
    assert list(finalizer_warnings(new)) == [
        f'metadata.finalizers: "mine": prefer a domain-qualified finalizer name {END}',
        'metadata.finalizers: "example.com": prefer a domain-qualified finalizer name '
        f"including a path (/) {END}",
    ]


def test_one_that_was_there_before_is_not() -> None:
    assert list(finalizer_warnings(held("mine"), held("mine"))) == []
