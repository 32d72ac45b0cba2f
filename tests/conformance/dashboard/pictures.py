"""Takes the pictures of the docs anew: `python -m tests.conformance.dashboard.pictures`.

As root, with Chromium (`make browser-tools`) and a kubectl; a `mooring up` is made for it.
"""

import io
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from mooring.driver.objects import CLASS
from mooring.stack.top import Wish, run_once
from mooring.top.live import screen
from mooring.top.rows import Row, Subject
from tests.clients.csi import a_reader, bare_claim, server_with_driver
from tests.clients.find_kubectl import Age, find_kubectl
from tests.clients.kubectl import Kubectl
from tests.clients.pods import STAYS, WITHIN, Pods
from tests.conformance.dashboard.conftest import chromium
from tests.fakes.real_server import RealServer, command

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

DOCS = Path(__file__).parents[3] / "docs"
PICTURES = DOCS / "pictures"
MEASURED_MS = 120_000  # a node measures its volumes once a minute
SETTLED_MS = 800  # of animations
USED = {"web": ("32Mi", 0), "logs": ("32Mi", 22), "data": ("64Mi", 19), "old": ("48Mi", 0)}
BAR_WIDTH = 90  # characters


def fill(pods: Pods) -> None:
    """Claims in use, one that nobody uses, one that waits, and a volume that was released."""
    kubectl = pods.kubectl
    kubectl("wait", "--for=create", f"sc/{CLASS}", WITHIN)
    for name, (size, mebibytes) in USED.items():
        writes = f"dd if=/dev/zero of=/data/f bs=1M count={mebibytes}; {STAYS}"
        pods.ready(bare_claim(name, size), a_reader(name, name, script=writes))
    pods.ready(bare_claim("scratch", "96Mi"), a_reader("past", "scratch"))
    pods.create(bare_claim("reports", "5Gi", storageClassName="fast-ssd"))
    pods.create(a_reader("report", "reports"))
    volume = kubectl.field(".spec.volumeName", "pvc", "old")
    keep = '{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}'
    kubectl("patch", "pv", volume, "-p", keep)
    kubectl("delete", "pod/old", "pod/past", "pvc/old", WITHIN)


def take(page: "Page", name: str) -> None:
    page.wait_for_timeout(SETTLED_MS)
    page.screenshot(path=PICTURES / f"dashboard-{name}.png")


def take_dashboard(page: "Page", url: str) -> None:
    page.goto(url)
    page.get_by_text("no such StorageClass").first.wait_for(timeout=MEASURED_MS)
    page.get_by_text("default/logs").first.wait_for(timeout=MEASURED_MS)
    page.locator("tr meter").first.wait_for(timeout=MEASURED_MS)
    take(page, "overview")
    page.evaluate("location.hash = '#/claim/default/reports'")
    page.get_by_text("To heal it").wait_for()
    take(page, "why")
    page.emulate_media(color_scheme="dark")
    page.evaluate("location.hash = '#/claim/default/web'")
    page.get_by_role("tab", name="Timeline").click()
    page.get_by_text("It took").wait_for()
    take(page, "chain-dark")


def take_login(page: "Page", server: RealServer) -> None:
    page.goto(f"https://{server.host}:{server.port}/ui")
    page.get_by_label("Token").wait_for()
    take(page, "login")


def bars(kubeconfig: Path) -> str:
    """What `mooring top --watch` draws, as HTML."""
    console = Console(record=True, width=BAR_WIDTH, force_terminal=True, file=io.StringIO())

    def draw(rows: Sequence[Row], unseen: Mapping[str, str]) -> None:
        console.print(screen(Subject.PVC, rows, unseen, len(rows), "12:00:00"))

    run_once(kubeconfig, Wish(Subject.PVC), draw)
    return console.export_html(inline_styles=True)


def take_all(browser: "Browser", server: RealServer) -> None:
    context = browser.new_context(
        viewport={"width": 1180, "height": 760}, ignore_https_errors=True, color_scheme="light"
    )
    line = command("dashboard", "--kubeconfig", str(server.kubeconfig))
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603  ours
        assert process.stdout is not None
        take_dashboard(context.new_page(), process.stdout.readline().split()[-1])
        process.terminate()
    take_login(context.new_page(), server)
    page = context.new_page()
    page.set_viewport_size({"width": 790, "height": 400})
    with ThreadPoolExecutor() as threads:  # the browser's driver has the event loop of this one
        page.set_content(threads.submit(bars, server.kubeconfig).result())
    page.locator("pre").screenshot(path=PICTURES / "top.png")


def main() -> None:
    with ExitStack() as stack:
        server = stack.enter_context(server_with_driver())
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        binary = find_kubectl(Age.USUAL)
        kubectl = Kubectl(binary.path, binary.version, server.kubeconfig, home, "default")
        fill(Pods(kubectl))
        timeline = command("timeline", "pod/web", "--kubeconfig", str(server.kubeconfig))
        subprocess.run(timeline, check=True)  # noqa: S603  the table, for docs/timeline.md
        with (DOCS / "timeline.svg").open("w") as file:
            subprocess.run([*timeline, "-o", "svg"], stdout=file, check=True)  # noqa: S603
        browser = stack.enter_context(chromium())
        take_all(browser, server)


if __name__ == "__main__":
    main()
