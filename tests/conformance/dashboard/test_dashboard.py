"""The dashboard in a real browser."""

import re
import time
from typing import TYPE_CHECKING

import pytest

from tests.conformance.dashboard.cluster import CORE, Cluster, KubernetesServer
from tests.conformance.obtain import Say
from tests.fakes.real_server import Doc

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

STEPS = ("Provisioned", "Bound", "Scheduled", "Attached", "Mounted", "Running")
EVIL = "<img src=x onerror=alert(1)><script>alert(2)</script>"
TURNED = "\u202egnp.exe\u2066"  # reads as exe.png where its marks are obeyed
HUGE = "x" * 1_000_000
LONGEST_NOTE = "y" * 250_000  # of an annotation; a server refuses more
MANY = 10_000


def enter(page: "Page", url: str) -> None:
    page.goto(url)
    page.locator("#live[data-state=good]").wait_for()


def step(page: "Page", name: str, state: str) -> "Locator":
    return page.locator(f'.steps li[data-step="{name}"][data-state="{state}"]')


def wait_steps(page: "Page", *states: str) -> None:
    for name, state in zip(STEPS, states, strict=True):
        step(page, name, state).wait_for()


def test_what_is_stuck_is_shown_with_its_why(cluster: Cluster, page: "Page", url: str) -> None:
    cluster.claim("lost", storage_class="no-such-class")
    enter(page, url)
    row = page.locator("tr", has=page.get_by_role("link", name="team/lost"))
    row.wait_for(timeout=60_000)  # it counts as stuck after ten seconds
    row.get_by_text("no-such-class").wait_for()


def test_the_url_works_once(cluster: Cluster, page: "Page", url: str) -> None:
    enter(page, url)
    assert "token" not in page.url
    page.reload()
    page.locator("#live[data-state=good]").wait_for()  # the session is this tab's
    other = page.context.new_page()
    other.goto(url)
    other.get_by_role("alert").get_by_text("used before").wait_for()


def test_an_api_server_shows_it_to_who_has_a_token(cluster: Cluster, page: "Page") -> None:
    if isinstance(cluster.server, KubernetesServer):
        pytest.skip("an API server of Kubernetes has no /ui: mooring dashboard is for it")
    cluster.claim("shown")
    page.goto(f"{cluster.server.url}/ui")
    token = page.get_by_label("Token")
    token.fill("wrong")
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("alert").wait_for()
    page.get_by_label("Token").fill(cluster.server.token())
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Overview").wait_for()
    page.keyboard.press("2")
    page.get_by_role("gridcell", name="shown").wait_for()


def test_the_six_steps_light_as_they_happen(cluster: Cluster, page: "Page", url: str) -> None:
    cluster.claim("steps")
    enter(page, url)
    page.evaluate("location.hash = '#/claim/team/steps'")
    wait_steps(page, "now", "idle", "idle", "idle", "idle", "idle")
    cluster.bind("steps")
    wait_steps(page, "done", "done", "idle", "idle", "idle", "idle")
    cluster.pod("db", "steps")
    wait_steps(page, "done", "done", "now", "idle", "idle", "idle")
    cluster.schedule("db")
    wait_steps(page, "done", "done", "done", "now", "idle", "idle")
    cluster.attach("steps", attached=False, attachError={"message": "the disk is away"})
    wait_steps(page, "done", "done", "done", "failed", "idle", "idle")
    page.get_by_role("button", name="Attachment link-steps: the disk is away").wait_for()
    cluster.attach("steps", attached=True, attachError=None)
    wait_steps(page, "done", "done", "done", "done", "now", "idle")
    cluster.run("db", {"waiting": {"reason": "ContainerCreating"}})
    wait_steps(page, "done", "done", "done", "done", "done", "now")
    cluster.run("db", {"running": {"startedAt": "2026-01-01T00:00:00Z"}})
    wait_steps(page, *["done"] * 6)
    page.get_by_role("button", name="Container main: running").wait_for()


def test_click_through_to_object_events_why_timeline_and_trace(
    cluster: Cluster, page: "Page", url: str
) -> None:
    cluster.claim("look")
    cluster.bind("look")
    enter(page, url)
    page.evaluate("location.hash = '#/claim/team/look'")
    page.get_by_role("button", name="Volume pv-team-look").click()
    page.get_by_role("tab", name="Object").click()
    page.get_by_role("tabpanel").get_by_text("volumeHandle: pv-team-look").wait_for()
    page.get_by_role("button", name="Claim team/look").click()
    for name in ("Events", "Why", "Timeline", "Trace"):
        page.get_by_role("tab", name=name).click()
        page.locator("#tab-body > *:not(:text('Loading…'))").first.wait_for()
        assert "undefined" not in page.get_by_role("tabpanel").inner_text()


def test_texts_of_the_cluster_are_texts(cluster: Cluster, page: "Page", url: str) -> None:
    cluster.claim("evil")
    cluster.bind("evil")
    cluster.pod("evil", "evil")
    cluster.schedule("evil")
    cluster.attach("evil", attached=False, attachError={"message": EVIL})
    cluster.run("evil", {"waiting": {"reason": EVIL, "message": EVIL}}, mounted=False)
    path = f"{CORE}/namespaces/team/persistentvolumeclaims/evil"
    cluster.patch(path, {"metadata": {"annotations": {"note": EVIL}}})
    enter(page, url)
    page.get_by_role("link", name="link-evil").wait_for()
    page.evaluate("location.hash = '#/claim/team/evil'")
    page.get_by_role("button", name=f"Attachment link-evil: {EVIL}").wait_for()
    page.get_by_role("tab", name="Object").click()
    page.get_by_role("tabpanel").get_by_text(f"note: {EVIL}").wait_for()
    assert page.locator("main img, main script").count() == 0


def test_texts_that_turn_round_or_do_not_end_stay_in_their_place(
    cluster: Cluster, page: "Page", url: str
) -> None:
    cluster.claim("odd")
    path = f"{CORE}/namespaces/team/persistentvolumeclaims/odd"
    cluster.patch(path, {"metadata": {"annotations": {"note": LONGEST_NOTE, "turned": TURNED}}})
    cluster.status(path, {"conditions": [condition(f"{TURNED} {EVIL} {HUGE}")]})
    cluster.event("odd", reason=EVIL, source=TURNED, message=f"{TURNED} {EVIL} {HUGE}")
    enter(page, url)
    row = page.locator("tr", has=page.get_by_role("link", name="team/odd"))
    row.wait_for(timeout=60_000)
    stays_in_place(page)
    page.evaluate("location.hash = '#/claim/team/odd'")
    body = page.get_by_role("tabpanel")
    for name, text in (
        ("Object", "yyyyyyyyyy"),
        ("Events", f"\\u202egnp.exe\\u2066 {EVIL}"),
        ("Events", EVIL),
        ("Why", "asks for 1Gi"),
    ):
        page.get_by_role("tab", name=name).click()
        body.get_by_text(text).first.wait_for()
        stays_in_place(page)


def condition(message: str) -> Doc:
    now = "2026-01-01T00:00:00Z"
    told = {"type": "ControllerResizeError", "status": "True", "reason": TURNED}
    return {**told, "message": message, "lastTransitionTime": now}


def stays_in_place(page: "Page") -> None:
    """Nothing became HTML, no mark turns text round, and the page is as wide as its window."""
    assert page.locator("main img, main script").count() == 0
    told = page.evaluate("document.body.innerText + document.title")
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", told)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("document.querySelector('main').scrollWidth <= innerWidth")


def test_the_browser_itself_refuses_html_out_of_texts(
    cluster: Cluster, browser: "Browser", url: str
) -> None:
    from playwright.sync_api import Error

    with browser.new_context() as context:
        page = context.new_page()
        enter(page, url)
        with pytest.raises(Error, match="TrustedHTML"):
            page.evaluate("() => { document.body.innerHTML = '<b>x</b>' }")


def test_everything_works_by_keyboard(cluster: Cluster, page: "Page", url: str) -> None:
    for name in ("key-a", "key-b", "another"):
        cluster.claim(name)
    enter(page, url)
    page.keyboard.press("/")
    page.get_by_label("Filter claims").fill("key-")
    page.get_by_text("2 of").wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    grid = page.get_by_role("grid", name="Claims")
    assert grid.get_attribute("aria-activedescendant") == "row-1"
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Claim team/key-b", exact=True).wait_for()
    page.get_by_role("tab", selected=True).focus()
    page.keyboard.press("ArrowRight")
    page.get_by_role("tab", name="Object", selected=True).wait_for()
    page.keyboard.press("Escape")
    grid.wait_for()
    page.keyboard.press("?")
    page.get_by_role("dialog", name="Keys").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog", name="Keys").wait_for(state="hidden")
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.keyboard.press("t")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before


def test_everything_that_can_be_used_has_a_name(cluster: Cluster, page: "Page", url: str) -> None:
    cluster.claim("named")
    enter(page, url)
    for view in ("#/", "#/claims", "#/claim/team/named"):
        page.evaluate(f"location.hash = '{view}'")
        page.locator("main h1").first.wait_for(state="attached")
        for control in page.locator("button, a, input, meter, [role=grid], [role=tab]").all():
            name = control.evaluate(
                "e => e.ariaLabel || e.textContent.trim() || e.labels?.[0]?.textContent || ''"
            )
            assert name, control.evaluate("e => e.outerHTML")


def test_a_change_shows_soon(cluster: Cluster, page: "Page", url: str, say: Say) -> None:
    """The figure is printed; only a change that never comes is a failure."""
    enter(page, url)
    page.keyboard.press("2")
    page.get_by_role("grid", name="Claims").wait_for()
    took = []
    for i in range(5):
        name = f"soon-{i}"
        waiting = page.get_by_role("gridcell", name=name)
        began = time.perf_counter()
        cluster.claim(name)
        written = time.perf_counter()
        waiting.wait_for()
        took.append(time.perf_counter() - written)
        assert time.perf_counter() - began < 30
    say(f"a change shows after {sorted(took)[2] * 1000:.0f} ms (median of {len(took)})")


def test_ten_thousand_claims_stay_smooth(
    cluster: Cluster, page: "Page", url: str, say: Say
) -> None:
    cluster.fill(MANY)
    began = time.perf_counter()
    page.goto(f"{url}")
    page.locator(".figure b", has_text=re.compile(r"^1\d{4}$")).first.wait_for()
    say(f"first view with {MANY} claims: {time.perf_counter() - began:.2f} s")
    page.keyboard.press("2")
    page.get_by_label("Filter claims").fill("ns:many")
    page.get_by_text(f"{MANY} of").wait_for()
    grid = page.get_by_role("grid", name="Claims")
    grid.focus()
    page.keyboard.press("End")
    page.get_by_role("gridcell", name=f"c-{MANY - 1:05d}").wait_for()
    assert page.locator(".row").count() < 100  # of ten thousand: those in sight
    frames = page.evaluate(
        """async () => {
          const list = document.querySelector('.list');
          list.scrollTop = 0;
          const times = [];
          let last = performance.now();
          for (let i = 0; i < 60; i += 1) {
            list.scrollTop += 1500;
            await new Promise((done) => requestAnimationFrame(done));
            times.push(performance.now() - last);
            last = performance.now();
          }
          return times.sort((a, b) => a - b);
        }"""
    )
    say(f"scrolling: a frame takes {frames[30]:.0f} ms (median)")
