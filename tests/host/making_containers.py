"""A process that makes and starts containers, and is killed; see test_container_faults.py.

Its words: the node's root, the directory for what need not outlive the machine, a pod's uid, the
host's id of the container's root (0: it is the host's), and the layers of the image.
"""

import asyncio
import secrets
import sys
from pathlib import Path

from mooring.clock import RealClock
from mooring.host.mount import Mounts
from mooring.oci.containers import OciContainers
from mooring.oci.contract import (
    Bind,
    Confinement,
    ContainerSpec,
    ImageConfig,
    Owner,
    RunAsUser,
    StoredImage,
)
from mooring.oci.probe import NoRuntime, probe

MOST = 16  # more than any test waits for


async def main(
    root: Path, runs: Path, pod_uid: str, confinement: Confinement, layers: tuple[Path, ...]
) -> None:
    program = await probe()
    if isinstance(program, NoRuntime):
        sys.exit(program.reason)
    (root / "logs").mkdir(parents=True, exist_ok=True)
    containers = OciContainers(root, Mounts(), RealClock(), program, run_directory=runs)
    image = StoredImage("sha256:0", (), layers, ImageConfig(), 0)

    async def make(number: int) -> None:
        id = secrets.token_hex(32)
        spec = ContainerSpec(
            id=id,
            owner=Owner("default", "web", pod_uid, f"c{number}", 0),
            image=image,
            args=("sleep", "1000"),
            environment=(),
            working_dir="",
            user=RunAsUser(),
            hostname="web",
            log_path=root / "logs" / f"{id}.log",
            binds=(Bind(root / "logs", "/logs"),),
            confinement=confinement,
        )
        await containers.create(spec)
        await containers.start(spec.id)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(containers.run())
        await containers.loaded.wait()
        sys.stdout.write("making\n")
        sys.stdout.flush()
        for number in range(MOST):
            tasks.create_task(make(number))


if __name__ == "__main__":
    root, runs, pod_uid, first, *layers = sys.argv[1:]
    confinement = Confinement(first_host_id=int(first) or None)
    asyncio.run(main(Path(root), Path(runs), pod_uid, confinement, tuple(map(Path, layers))))
