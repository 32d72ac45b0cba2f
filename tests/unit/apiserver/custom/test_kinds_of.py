import msgspec

from mooring.apiserver.custom.kinds_of import DefinedKinds, kinds_of
from tests.fakes.definitions import Doc, a_definition, a_version


def defined(definition: Doc) -> DefinedKinds:
    names = {"singular": "widget", "listKind": "WidgetList", **definition["spec"]["names"]}
    stored = {**definition, "status": {"acceptedNames": names}}
    return kinds_of(stored, msgspec.json.encode(stored), "digest")


def test_the_kinds_are_those_of_the_served_versions() -> None:
    versions = [
        a_version("v2", storage=False),
        a_version("v1", served=False),
        a_version("v1beta1", storage=False, deprecated=True),
    ]
    found = defined(a_definition(versions=versions, shortNames=["w"]))
    assert [kind.version for kind in found.served] == ["v2", "v1beta1"]
    assert found.stored.version == "v1"
    assert {kind.store_table for kind in (*found.served, found.stored)} == {"example.com/widgets"}
    assert found.served[0].short_names == ("w",)


def test_the_warning_names_the_best_version_that_is_not_deprecated() -> None:
    versions = [
        a_version("v1alpha1", storage=False, deprecated=True),
        a_version("v1beta1", storage=False),
        a_version("v1"),
        a_version("v2", storage=False, deprecated=True),
        a_version("v3", storage=False, served=False),
    ]
    texts = {
        kind.version: kind.deprecation for kind in defined(a_definition(versions=versions)).served
    }
    assert texts == {
        "v1alpha1": "example.com/v1alpha1 Widget is deprecated; use example.com/v1 Widget",
        "v1beta1": "",
        "v1": "",
        "v2": "example.com/v2 Widget is deprecated",
    }


def test_a_definition_may_say_the_warning_itself() -> None:
    version = a_version(deprecated=True, deprecationWarning="do not")
    assert defined(a_definition(versions=[version])).served[0].deprecation == "do not"


def test_a_schema_is_read_when_it_is_asked_for() -> None:
    definition = a_definition()
    definition["status"] = {"acceptedNames": definition["spec"]["names"]}
    kind = kinds_of(definition, b"no JSON", "digest").stored  # would fail if it were read here
    assert kind.structure is not None


def test_an_old_document_is_brought_up_to_the_schema_of_the_version_that_is_read() -> None:
    found = defined(a_definition())
    assert found.stored.renew is not None
    spec = {"size": 1, "gone": 2, "word": None}
    doc: Doc = {"apiVersion": "example.com/v1", "metadata": {}, "spec": spec}
    found.stored.renew(doc)
    assert doc["spec"] == {"size": 1, "color": "red"}
