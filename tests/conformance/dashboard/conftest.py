"""A real browser: Debian's Chromium, driven by Playwright."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from tests.conformance import obtain
from tests.conformance.dashboard.cluster import Cluster, KubernetesServer
from tests.conformance.obtain import Say
from tests.conformance.peers import (
    HOUSEKEEPING,
    UNLIMITED,
    VOLUME_CONTROLLERS,
    Find,
    controller_manager,
    kubernetes,
)
from tests.fakes.real_server import ApiServer, command

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium") or ""
START_SECONDS = 60


@pytest.fixture(scope="session")
def browser(say: Say) -> "Iterator[Browser]":
    def without(reason: str) -> NoReturn:
        say(f"the dashboard is not tested in a browser: {reason}")
        pytest.skip(reason)

    if not CHROMIUM:
        without("there is no Chromium: apt-get install chromium")
    try:
        import playwright.sync_api  # noqa: F401  only whether it is there
    except ImportError:
        without("there is no Playwright: pip install --group browser")
    with chromium() as started:
        yield started


@contextmanager
def chromium() -> "Iterator[Browser]":
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        # Without its sandbox, which root cannot have; every page here is ours.
        started = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


class Watched:
    """What went wrong in a page, and whom it asked."""

    def __init__(self, page: "Page") -> None:
        self.problems: list[str] = []
        self.asked: set[str] = set()
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("dialog", self._dialog)
        page.on("console", self._console)
        page.on("request", lambda request: self.asked.add(request.url.split("/ui")[0]))

    def _dialog(self, dialog: Any) -> None:
        self.problems.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def _console(self, message: Any) -> None:
        # A refused request is an answer that the page shows; the browser logs it all the same.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.problems.append(message.text)


@pytest.fixture
def page(browser: "Browser") -> "Iterator[Page]":
    """One page; after the test nothing may have gone wrong in it, and nobody else been asked."""
    context = browser.new_context(
        viewport={"width": 1280, "height": 800}, ignore_https_errors=True, color_scheme="light"
    )
    context.set_default_timeout(30_000)
    opened = context.new_page()
    watched = Watched(opened)
    yield opened
    own = opened.url.split("/ui")[0]
    context.close()
    assert watched.problems == []
    assert watched.asked <= {own, "about:blank"}


@pytest.fixture(scope="module", params=["mooring", "kubernetes"])
def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, find: Find, say: Say
) -> Iterator[Cluster]:
    """Whose objects the tests write: of Mooring's API server alone, or of Kubernetes' with those
    controllers that bind and protect; nobody attaches, mounts or runs anything."""
    directory = tmp_path_factory.mktemp("cluster")
    if request.param == "mooring":
        server = ApiServer(directory / "data").start()
        yield Cluster(server)
        server.stop()
        return
    with ExitStack() as running:
        try:
            api = running.enter_context(kubernetes(directory, find))
            controllers = (*VOLUME_CONTROLLERS, *HOUSEKEEPING)
            running.enter_context(controller_manager(api, find, controllers, UNLIMITED))
        except obtain.Missing as reason:
            say(f"no Kubernetes for the dashboard: {reason}")
            pytest.skip(f"no Kubernetes for the dashboard: {reason}")
        yield Cluster(KubernetesServer(api))


@pytest.fixture
def url(cluster: Cluster) -> Iterator[str]:
    """Of `mooring dashboard`, with its one-time token."""
    arguments = ("dashboard", "--kubeconfig", str(cluster.server.kubeconfig))
    log = cluster.server.data_dir.with_name("dashboard.stderr")
    with log.open("a") as errors:
        process = subprocess.Popen(  # noqa: S603  our own program
            command(*arguments), stdout=subprocess.PIPE, stderr=errors, text=True
        )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert "/ui/#token=" in line, (line, log.read_text())
    yield line.split()[-1]
    process.terminate()
    process.wait(START_SECONDS)
    process.stdout.close()
