from mooring.apiserver.custom.paths import find, names_of, put, text_at


def test_a_value_is_found_by_its_path() -> None:
    names = names_of(".spec.a")
    assert find({"spec": {"a": 1}}, names) == 1
    assert find({"spec": 5}, names) is None
    assert find({}, names) is None


def test_a_value_is_put_into_copies_of_what_is_on_the_way() -> None:
    held = {"b": 1}
    doc = {"spec": held}
    put(doc, names_of(".spec.a.x"), 2)
    assert doc == {"spec": {"b": 1, "a": {"x": 2}}}
    assert held == {"b": 1}


def test_selectors_read_values_as_text() -> None:
    read = text_at(("spec", "a"))
    assert [read({"spec": {"a": value}}) for value in ("x", 5, True, None)] == [
        "x",
        "5",
        "true",
        "",
    ]
