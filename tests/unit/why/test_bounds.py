"""Ten thousand objects that wait, and texts of a megabyte: answers stay short, and come."""

import time
from typing import Any

from mooring.why.answer import Ref
from mooring.why.explain import explain
from mooring.why.stuck import MOST_TOLD, Untold, find_stuck
from mooring.why.told import MOST_TEXT, told
from tests.unit.why.test_explain import DATA, said, storage_class
from tests.unit.why.worlds import NOW, claim, doc, whole_world

LINES = MOST_TEXT + 200
HOSTILE = "\x1b[2J\x1b]0;title\x07\x9b31m\u202egnp.exe\u2066\u200f\u0000\r\n\u2028"


def stuck(count: int, class_of: str) -> list[dict[str, Any]]:
    docs = []
    for at in range(count):
        name = f"c-{at:05}"
        docs.append(claim(name, storageClassName=class_of.format(at)))
        uses = [{"name": "v", "persistentVolumeClaim": {"claimName": name}}]
        spec = {"volumes": uses, "containers": [{"name": "c", "image": "i"}]}
        docs.append(doc("Pod", f"p-{at:05}", "shop", spec=spec))
        docs.append(said("PersistentVolumeClaim", name, "ProvisioningFailed", "no"))
        docs[-1]["metadata"]["name"] = f"e-{at:05}"
    return docs


def test_the_time_grows_with_what_waits_and_not_with_its_square() -> None:
    took = []
    for count in (250, 1000):
        world = whole_world(*stuck(count, "fst"))
        began = time.process_time()
        assert len(list(find_stuck(world, "", NOW))) == 1
        took.append(time.process_time() - began)
    assert took[1] < 10 * took[0], took  # of squares it would be sixteen times as much


def test_no_more_is_told_than_can_be_read_and_the_rest_is_counted() -> None:
    world = whole_world(*stuck(MOST_TOLD + 50, "fst-{}"))
    *answers, last = find_stuck(world, "", NOW)
    assert len(answers) == MOST_TOLD
    assert isinstance(last, Untold)
    assert last.count >= 50


def test_when_it_is_late_the_rest_is_counted() -> None:
    world = whole_world(*stuck(5, "fst-{}"))
    assert list(find_stuck(world, "", NOW, lambda: True)) == [Untold(10)]


def test_a_text_of_a_megabyte_is_cut() -> None:
    event = said("PersistentVolumeClaim", "data", "ProvisioningFailed", "x" * (1 << 20))
    driver = doc("CSIDriver", "disk.example", spec={})
    world = whole_world(claim(storageClassName="fast"), storage_class(), driver, event)
    lines = list(told(explain(world, DATA, NOW), NOW))
    assert max(map(len, lines)) < LINES
    assert "characters)" in lines[1]


def test_no_text_moves_the_cursor_or_turns_the_line_round() -> None:
    event = said("PersistentVolumeClaim", "data", "ProvisioningFailed", HOSTILE)
    driver = doc("CSIDriver", "disk.example", spec={})
    world = whole_world(claim(storageClassName="fast"), storage_class(), driver, event)
    for line in told(explain(world, DATA, NOW), NOW):
        assert line.isprintable(), line


def test_a_name_that_is_asked_for_is_shown_clean() -> None:
    wanted = Ref("Pod", HOSTILE, "shop")
    assert all(line.isprintable() for line in told(explain(whole_world(), wanted, NOW), NOW))
