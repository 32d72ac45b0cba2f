"""How an answer reads."""

from mooring.why.answer import Answer, CandidateGroup, Fix, Link, Ref, State, Step, Verdict
from mooring.why.told import told
from tests.unit.why.worlds import NOW

DATA = Ref("PersistentVolumeClaim", "data", "shop")
FAST = Ref("StorageClass", "fast")
ANSWER = Answer(
    DATA,
    Verdict.BROKEN,
    "StorageClass fast: there is none",
    (
        Link(Step.CLAIM, DATA, State.DONE, "asks for 1Gi", DATA),
        Link(
            *(Step.CLASS, FAST, State.BROKEN, "there is none", DATA),
            since="2026-05-01T11:55:00Z",
            who="an administrator",
        ),
    ),
    (Fix("kubectl get pvc", "looks"),),
    (CandidateGroup("Node", "it is full", 5, ("a", "b", "c", "d", "e")),),
    ("nodes: forbidden",),
)


def test_an_answer_is_a_chain_with_marks() -> None:
    assert list(told(ANSWER, NOW)) == [
        "PersistentVolumeClaim shop/data: BROKEN",
        "  StorageClass fast: there is none",
        "",
        "  ✓ claim  PersistentVolumeClaim shop/data: asks for 1Gi",
        "  ✗ class  StorageClass fast: there is none",
        "           (for 5m; an administrator must act; says PersistentVolumeClaim shop/data)",
        "",
        "  5 Nodes: it is full (a, b, c and 2 more)",
        "",
        "what helps:",
        "  # looks",
        "  kubectl get pvc",
        "not seen: nodes: forbidden",
    ]


def test_all_names_are_shown_on_demand() -> None:
    assert "  5 Nodes: it is full (a, b, c, d, e)" in list(told(ANSWER, NOW, names_all=True))


def test_texts_of_objects_cannot_write_to_the_terminal() -> None:
    link = Link(Step.CLAIM, DATA, State.BROKEN, "\x1b[2Jgone\nnew line", DATA)
    lines = list(told(Answer(DATA, Verdict.BROKEN, "\x07", (link,)), NOW))
    assert lines[1] == "  "
    assert lines[3].endswith("[2Jgone new line")
    assert all(line.isprintable() for line in lines)
