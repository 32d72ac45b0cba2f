"""gitRepo: a directory with a clone of a repository in it. Deprecated, and off unless asked for.

A repository is untrusted: no hook of it is run, no argument is taken for an option, and nothing is
written outside the volume.
"""

import os
from pathlib import Path, PurePosixPath

from mooring import log
from mooring.errors import HostError
from mooring.host import command, ownership
from mooring.host.blocking import in_thread
from mooring.host.ownership import FsGroup
from mooring.host.refusal import refusals
from mooring.model.pod import Pod
from mooring.model.pod_volume import GitRepoSource, PodVolume
from mooring.model.volume_use import VolumeUse
from mooring.plugins.contract import Attributes, MountRequest, Usage, VolumeError
from mooring.plugins.directories import is_ready, mark_ready, remove_marks
from mooring.plugins.empty_dir import ScratchDirectory, wrapped_scratch
from mooring.plugins.medium import ON_DISK
from mooring.plugins.volume_host import Host
from mooring.processes import Program, run_async

_log = log.get("mooring.plugins.git_repo")

NAME = "kubernetes.io/git-repo"
LONGEST_RUN = 3600.0  # seconds; a large repository over a slow line takes its time
MOST_SHOWN = 16 * 1024  # bytes of what git said

_OFF = (
    "git-repo volume plugin has been disabled; if necessary, it may be re-enabled by enabling the "
    "feature-gate `GitRepoVolumeDriver`"
)
_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "core.hooksPath",
    "GIT_CONFIG_VALUE_0": os.devnull,
}


def check_source(source: GitRepoSource) -> None:
    """Raises: VolumeError for what git could take for an option or a way out of the volume."""
    for field in ("repository", "revision", "directory"):
        if (value := getattr(source, field)).startswith("-"):
            raise VolumeError(f'"{value}" is an invalid value for {field}')
    directory = PurePosixPath(source.directory)
    if directory.is_absolute() or ".." in directory.parts:
        raise VolumeError(f'"{source.directory}" is not a valid directory, it must be inside')
    if source.revision and ("\\" in source.directory or len(directory.parts) > 1):
        raise VolumeError(
            f'"{source.directory}" is not a valid directory, '
            "it must not contain a directory separator"
        )


async def git(arguments: tuple[str, ...], directory: Path) -> None:
    """Run git in `directory`; when it is over, or cancelled, nothing that it started runs.

    Raises: VolumeError with what git said; HostError when there is no git.
    """
    found = command.find_program("git")
    if found is None:
        raise HostError("git: executable file not found in $PATH")
    program = Program(
        [str(found), *arguments],
        keep=MOST_SHOWN,
        seconds=LONGEST_RUN,
        env=os.environ | _ENVIRONMENT,
        cwd=directory,
    )
    with refusals(f"run {found}"):
        ended = await run_async(program)
    if ended.code == 0 and not ended.is_late:
        return
    told = ended.output[-MOST_SHOWN:].decode(errors="replace")
    how = f"stopped after {LONGEST_RUN:.0f} s" if ended.is_late else f"exit status {ended.code}"
    raise VolumeError(f"failed to exec 'git {' '.join(arguments)}': {told}: {how}")


class GitRepoVolume:
    """A volume of one pod, reconstructed from the disk."""

    def __init__(self, host: Host, name: str, pod_uid: str) -> None:
        self.scratch: ScratchDirectory = wrapped_scratch(host, NAME, name, pod_uid)
        self.marks = host.layout.pod_plugin(pod_uid, NAME, name)
        self.path = self.scratch.path

    async def tear_down(self) -> None:
        await in_thread(remove_marks, self.marks)
        await self.scratch.tear_down()


class GitRepoMounter:
    attributes = Attributes(is_managed=True, wants_relabel=True)

    def __init__(self, volume: GitRepoVolume, source: GitRepoSource, *, is_enabled: bool) -> None:
        self.path = volume.path
        self._volume = volume
        self._source = source
        self._is_enabled = is_enabled

    async def set_up(self, request: MountRequest) -> None:
        if not self._is_enabled:
            raise VolumeError(_OFF)
        if await in_thread(is_ready, self._volume.marks):
            return
        await self._volume.tear_down()  # half a clone, which no container has seen
        try:
            await self._volume.scratch.set_up(request, ON_DISK)
            await self._clone()
            if self._source.revision:
                await self._check_out(request)
            await in_thread(mark_ready, self._volume.marks)
        except (VolumeError, HostError):
            await self._volume.tear_down()
            raise

    async def usage(self) -> Usage | None:
        return None

    async def _clone(self) -> None:
        into = (self._source.directory,) if self._source.directory else ()
        await git(("clone", "--", self._source.repository, *into), self.path)

    async def _check_out(self, request: MountRequest) -> None:
        directory = await in_thread(self._cloned)
        await git(("checkout", self._source.revision), directory)
        await git(("reset", "--hard"), directory)
        if request.fs_group is None:
            return
        try:
            await in_thread(ownership.apply, self.path, FsGroup(request.fs_group))
        except HostError as error:  # as upstream has it
            _log.warning("a clone keeps its group", path=self.path, error=error)

    def _cloned(self) -> Path:
        if self._source.directory and PurePosixPath(self._source.directory) == PurePosixPath():
            return self.path
        with refusals(f"list {self.path}"):
            entries = sorted(os.listdir(self.path))
        if len(entries) != 1:
            raise VolumeError(f"unexpected directory contents: [{' '.join(entries)}]")
        return self.path / entries[0]


class GitRepo:
    name = NAME
    takes_mount_options = False

    def __init__(self, host: Host, *, is_enabled: bool = False) -> None:
        self._host = host
        self._is_enabled = is_enabled

    def supports(self, use: VolumeUse) -> bool:
        return use.inline is not None and use.inline.git_repo is not None

    def volume_name(self, use: VolumeUse) -> str:
        source = _source(use)
        return f"{source.repository}:{source.revision}:{source.directory}"

    def wants_remount(self, use: VolumeUse) -> bool:
        return False

    def mounter(self, use: VolumeUse, pod: Pod) -> GitRepoMounter:
        source = _source(use)
        check_source(source)
        volume = GitRepoVolume(self._host, use.name, pod.uid)
        return GitRepoMounter(volume, source, is_enabled=self._is_enabled)

    def unmounter(self, name: str, pod_uid: str) -> GitRepoVolume:
        return GitRepoVolume(self._host, name, pod_uid)

    def rebuild(self, name: str, pod_uid: str) -> VolumeUse:
        return VolumeUse(inline=PodVolume(name=name, git_repo=GitRepoSource()))


def _source(use: VolumeUse) -> GitRepoSource:
    if use.inline is None or use.inline.git_repo is None:
        raise VolumeError("Spec does not reference a Git repo volume type")
    return use.inline.git_repo
