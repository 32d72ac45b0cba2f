from mooring.apiserver.kinds.selectable import flag_in, text, text_in


def test_a_text_reads_as_itself_and_absent_as_empty() -> None:
    assert text("type")({"type": "Opaque"}) == "Opaque"
    assert text("type")({}) == ""
    assert text("type")({"type": None}) == ""


def test_a_text_inside_a_part() -> None:
    read = text_in("spec", "nodeName")
    assert read({"spec": {"nodeName": "n1"}}) == "n1"
    assert read({"spec": {}}) == ""
    assert read({}) == ""


def test_a_flag_reads_as_a_word() -> None:
    read = flag_in("spec", "hostNetwork")
    assert read({"spec": {"hostNetwork": True}}) == "true"
    assert read({"spec": {"hostNetwork": False}}) == "false"
    assert read({}) == "false"
