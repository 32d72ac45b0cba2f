"""`python -m release [--no-image]`: wheel, sdist, chart, images, SBOM and their checksums."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from mooring import __version__
from release import chart, checksums, distributions, sbom
from release.debian import SUITE, Archive
from release.image import Image, write_archive
from release.pages import changelog
from release.root import ARCHITECTURES, Root, assemble

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m release", description=__doc__)
    parser.add_argument("--no-image", action="store_true", help="leave images and SBOM out")
    parser.add_argument("--dist", type=Path, default=DIST, help="where all of it goes")
    chosen = parser.parse_args()
    epoch = _epoch()
    _clear(chosen.dist)
    wheel = distributions.build(ROOT, chosen.dist, epoch)
    chart.write(ROOT / "deploy/helm/mooring", chosen.dist, __version__, epoch)
    (chosen.dist / "CHANGELOG.md").write_text(changelog.text(__version__), encoding="utf-8")
    if not chosen.no_image:
        _build_images(wheel, chosen.dist, epoch)
    checksums.write(chosen.dist)
    for file in sorted(chosen.dist.iterdir()):
        sys.stdout.write(f"{file.stat().st_size:>12,}  {file.name}\n")


def _clear(dist: Path) -> None:
    """Only `dist/` of this tree is emptied; any other directory has to be empty."""
    if dist == DIST:
        shutil.rmtree(dist, ignore_errors=True)
    dist.mkdir(parents=True, exist_ok=True)
    if any(dist.iterdir()):
        sys.exit(f"release: {dist} is not empty: give --dist an empty directory")


def _build_images(wheel: Path, dist: Path, epoch: int) -> None:
    with tempfile.TemporaryDirectory(prefix="mooring-release-") as directory:
        roots: list[Root] = []
        for architecture in ARCHITECTURES:
            sys.stdout.write(f"assembling the image for {architecture.name} (Debian {SUITE})\n")
            here = Path(directory) / architecture.name
            debs = Archive(here / "apt", architecture.name).download(here / "debs")
            roots.append(assemble(architecture, debs, wheel, here))
        images = [Image(root, __version__, epoch) for root in roots]
        write_archive(images, dist / f"mooring-{__version__}-oci.tar", __version__, epoch)
        (dist / f"mooring-{__version__}.cdx.json").write_text(
            sbom.document(roots[0], __version__, epoch), encoding="utf-8"
        )


def _epoch() -> int:
    """When the sources were last changed: every time stamp in what is built."""
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(given)
    git = shutil.which("git")
    if git is None:
        sys.exit("release: set SOURCE_DATE_EPOCH, or install git, which tells it")
    command = [git, "log", "-1", "--format=%ct"]
    return int(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)  # noqa: S603  of this file


if __name__ == "__main__":
    main()
