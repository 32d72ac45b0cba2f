"""gitRepo: off by default; switched on, a clone that stays inside its volume."""

import asyncio
import os
import select
import shutil
import subprocess
from pathlib import Path

import pytest

from mooring.model.pod_volume import GitRepoSource, PodVolume
from mooring.plugins import git_repo
from mooring.plugins.contract import Attributes, VolumeError
from mooring.plugins.git_repo import GitRepo, GitRepoMounter, check_source, git
from mooring.plugins.registry import built_in
from mooring.plugins.volume_host import Host
from tests.fakes.mounts import FakeMounts
from tests.unit.plugins.contract_suite import NewWorld, PluginContract
from tests.unit.plugins.cuts import CutMounts
from tests.unit.plugins.world import VolumeWorld, a_host, a_pod, a_request, inline

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
AS_SOMEBODY = ("-c", "user.name=x", "-c", "user.email=x@example.com")


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return a_host(tmp_path, FakeMounts())


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """With one file, changed once; the first state is called `first`."""
    path = tmp_path / "upstream"
    run("init", "--quiet", "--initial-branch=main", str(path))
    for text in ("one", "two"):
        (path / "file").write_text(text)
        run("-C", str(path), "add", "file")
        run("-C", str(path), *AS_SOMEBODY, "commit", "--quiet", "--message", text)
        if text == "one":
            run("-C", str(path), "tag", "first")
    return path


def run(*words: str) -> None:
    subprocess.run(["git", *words], check=True, capture_output=True)  # noqa: S603, S607  own words


def a_mounter(host: Host, source: GitRepoSource) -> GitRepoMounter:
    use = inline(PodVolume(name="code", git_repo=source))
    return GitRepo(host, is_enabled=True).mounter(use, a_pod())


async def test_off_by_default(host: Host) -> None:
    use = inline(PodVolume(name="code", git_repo=GitRepoSource("https://example.com/x")))
    mounter = GitRepo(host).mounter(use, a_pod())
    with pytest.raises(VolumeError) as refused:
        await mounter.set_up(a_request())
    assert str(refused.value) == (
        "git-repo volume plugin has been disabled; if necessary, it may be re-enabled by enabling "
        "the feature-gate `GitRepoVolumeDriver`"
    )
    assert not host.layout.root.exists()


@needs_git
async def test_switched_on_for_the_whole_node(host: Host, repository: Path) -> None:
    use = inline(PodVolume(name="code", git_repo=GitRepoSource(str(repository))))
    mounter = built_in(host, clones_git=True).find(use).mounter(use, a_pod())
    await mounter.set_up(a_request())
    assert (mounter.path / "upstream" / "file").exists()


REFUSED = {
    "a repository that is an option": (
        GitRepoSource("--upload-pack=x"),
        '"--upload-pack=x" is an invalid value for repository',
    ),
    "a revision that is an option": (
        GitRepoSource("r", revision="-b"),
        '"-b" is an invalid value for revision',
    ),
    "a directory that is an option": (
        GitRepoSource("r", directory="-x"),
        '"-x" is an invalid value for directory',
    ),
    "a directory below another, with a revision": (
        GitRepoSource("r", revision="main", directory="a/b"),
        '"a/b" is not a valid directory, it must not contain a directory separator',
    ),
    "a directory with a backslash, with a revision": (
        GitRepoSource("r", revision="main", directory="a\\b"),
        '"a\\b" is not a valid directory, it must not contain a directory separator',
    ),
    "a directory above": (
        GitRepoSource("r", directory="a/../../b"),
        '"a/../../b" is not a valid directory, it must be inside',
    ),
    "a directory elsewhere": (
        GitRepoSource("r", directory="/etc"),
        '"/etc" is not a valid directory, it must be inside',
    ),
}


@pytest.mark.parametrize(("source", "text"), REFUSED.values(), ids=[*REFUSED])
def test_sources_that_lead_elsewhere(host: Host, source: GitRepoSource, text: str) -> None:
    with pytest.raises(VolumeError) as refused:
        a_mounter(host, source)
    assert str(refused.value) == text


@pytest.mark.parametrize("directory", ["", ".", "a", "a/b", "./a/"])
def test_without_a_revision_any_directory_inside_will_do(directory: str) -> None:
    check_source(GitRepoSource("r", directory=directory))


def test_a_trailing_slash_is_no_separator() -> None:
    check_source(GitRepoSource("r", revision="main", directory="a/"))


@needs_git
@pytest.mark.parametrize(
    ("revision", "directory", "file", "content"),
    [
        ("", "", "upstream/file", "two"),
        ("", "deep/er", "deep/er/file", "two"),
        ("", ".", "file", "two"),
        ("first", "", "upstream/file", "one"),
        ("first", "code", "code/file", "one"),
        ("first", ".", "file", "one"),
    ],
)
async def test_a_clone(
    host: Host, repository: Path, revision: str, directory: str, file: str, content: str
) -> None:
    mounter = a_mounter(host, GitRepoSource(str(repository), revision, directory))
    await mounter.set_up(a_request())
    assert (mounter.path / file).read_text() == content
    assert mounter.attributes == Attributes(is_managed=True, wants_relabel=True)
    assert await mounter.usage() is None


@needs_git
async def test_what_is_cloned_once_is_the_pods(host: Host, repository: Path) -> None:
    mounter = a_mounter(host, GitRepoSource(str(repository)))
    await mounter.set_up(a_request())
    (mounter.path / "upstream" / "file").write_text("mine")
    await mounter.set_up(a_request())
    assert (mounter.path / "upstream" / "file").read_text() == "mine"


@needs_git
async def test_hooks_of_a_repository_are_not_run(host: Host, repository: Path) -> None:
    template = repository.parent / "template"
    (template / "hooks").mkdir(parents=True)
    hook = template / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {repository.parent}/was-run\n")
    hook.chmod(0o755)
    directory = repository.parent / "clone"
    directory.mkdir()
    await git(("clone", f"--template={template}", "--", str(repository)), directory)
    assert (directory / "upstream" / "file").exists()
    assert not (repository.parent / "was-run").exists()


@needs_git
@pytest.mark.parametrize(
    ("repository_name", "revision", "text"),
    [
        ("missing", "", "failed to exec 'git clone -- {root}/missing': "),
        ("upstream", "unheard-of", "failed to exec 'git checkout unheard-of': "),
    ],
)
async def test_a_failed_clone_leaves_nothing(
    host: Host, repository: Path, repository_name: str, revision: str, text: str
) -> None:
    source = GitRepoSource(str(repository.parent / repository_name), revision)
    mounter = a_mounter(host, source)
    with pytest.raises(VolumeError) as refused:
        await mounter.set_up(a_request())
    assert str(refused.value).startswith(text.format(root=repository.parent))
    assert str(refused.value).endswith((": exit status 128", ": exit status 1"))
    assert not mounter.path.exists()


@needs_git
async def test_half_a_clone_is_thrown_away(host: Host, repository: Path) -> None:
    mounter = a_mounter(host, GitRepoSource(str(repository)))
    (mounter.path / "upstream" / "half").mkdir(parents=True)
    await mounter.set_up(a_request())
    assert (mounter.path / "upstream" / "file").exists()
    assert not (mounter.path / "upstream" / "half").exists()


@needs_git
async def test_a_cancelled_clone_leaves_no_process(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    os.mkfifo(pid_file)
    command = f"!echo $$ > {pid_file}; exec sleep 1000"
    cloning = asyncio.ensure_future(git(("-c", f"alias.hang={command}", "hang"), tmp_path))
    pid = int(await asyncio.to_thread(pid_file.read_text))
    process = os.pidfd_open(pid)
    cloning.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cloning
    ended, _, _ = await asyncio.to_thread(select.select, [process], [], [], 10)
    os.close(process)
    assert ended


@needs_git
async def test_a_git_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_repo, "LONGEST_RUN", 0.3)
    alias = "alias.hang=!tail -f /dev/null & exec tail -f /dev/null"
    with pytest.raises(VolumeError, match="stopped after 0 s"):
        await git(("-c", alias, "hang"), tmp_path)


@needs_git
async def test_a_git_that_talks_without_end_is_not_listened_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_repo, "LONGEST_RUN", 0.5)
    with pytest.raises(VolumeError) as caught:
        await git(("-c", "alias.talk=!exec yes", "talk"), tmp_path)
    assert len(str(caught.value)) < 2 * git_repo.MOST_SHOWN


def test_what_is_behind_it(host: Host) -> None:
    use = inline(PodVolume(name="code", git_repo=GitRepoSource("https://x/y", "main", "d")))
    assert GitRepo(host).volume_name(use) == "https://x/y:main:d"


class TestContract(PluginContract):
    @pytest.fixture
    def new_world(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> NewWorld:
        a_quick_git(tmp_path / "bin")
        monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
        made: list[VolumeWorld] = []
        use = inline(PodVolume(name="code", git_repo=GitRepoSource("anything")))

        def make() -> tuple[VolumeWorld, CutMounts]:
            root = tmp_path / str(len(made))
            root.mkdir()
            mounts = CutMounts(FakeMounts())
            made.append(VolumeWorld(root, mounts, lambda host: GitRepo(host, is_enabled=True), use))
            return made[-1], mounts

        return make


def a_quick_git(directory: Path) -> None:
    """Clones one directory with one file, and refuses to do so over another clone."""
    directory.mkdir()
    program = directory / "git"
    program.write_text("#!/bin/sh\nmkdir code && : > code/file\n")
    program.chmod(0o755)
