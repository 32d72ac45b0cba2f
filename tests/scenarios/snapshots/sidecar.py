"""A driver with upstream's csi-snapshotter, played: it writes to contents what that one writes.

Each `turn` looks at every content once, by the decision table of csi-snapshotter 8.6. What the
driver answers is told beforehand; an answer that is used up is followed by success.
"""

from collections import deque
from enum import Enum

from mooring.model.document import Doc
from mooring.model.wellknown import Annotation, Finalizer
from tests.fakes.api import ApiUnderTest
from tests.fakes.objects import SNAPSHOT_CONTENTS

GROUP_CONTENTS = "/apis/groupsnapshot.storage.k8s.io/v1/volumegroupsnapshotcontents"
NANOSECONDS = 1_700_000_000_123_456_789
TAKEN = "2023-11-14T22:13:20Z"


class Answer(Enum):
    READY = "taken, and ready to use"
    NOT_READY = "taken, still being uploaded"
    REFUSED = "certainly not taken"
    UNCERTAIN = "perhaps taken"


class Sidecar:
    def __init__(self, api: ApiUnderTest) -> None:
        self.api = api
        self.calls: list[str] = []
        self.answers: deque[Answer] = deque()
        self.deletes_fail = 0  # so many deletions
        self.forgets_members = 0  # so many of a group's volumes
        self.stored: dict[str, str] = {}  # snapshot handles in the storage system, and their name
        self.groups: dict[str, list[str]] = {}  # group handles, and their members

    async def turn(self) -> None:
        for content in (await self.api.get(SNAPSHOT_CONTENTS)).doc["items"]:
            await self._look(content)
        for content in (await self.api.get(GROUP_CONTENTS)).doc["items"]:
            await self._look_at_group(content)

    # single snapshots

    async def _look(self, content: Doc) -> None:
        spec, status = content["spec"], content.get("status", {})
        notes = content["metadata"].get("annotations", {})
        is_created = Annotation.SNAPSHOT_BEING_CREATED in notes
        is_free = "snapshotHandle" in spec["source"] and not spec["volumeSnapshotRef"].get("uid")
        if "deletionTimestamp" in content["metadata"] and (
            is_free or (Annotation.SNAPSHOT_BEING_DELETED in notes and not is_created)
        ):
            await self._delete(content)
        elif Annotation.GROUP_SNAPSHOT_HANDLE in notes:
            if status.get("snapshotHandle") and not status.get("readyToUse"):
                await self._status(content, {"readyToUse": True})
        elif status.get("readyToUse"):
            if is_created:
                await self._annotate(content, Annotation.SNAPSHOT_BEING_CREATED, None)
        elif "snapshotHandle" in spec["source"]:
            await self._list(content)
        else:
            await self._create(content)

    async def _create(self, content: Doc) -> None:
        name = content["metadata"]["name"]
        content = await self._annotate(content, Annotation.SNAPSHOT_BEING_CREATED, "yes")
        uid = content["spec"]["volumeSnapshotRef"]["uid"]
        self.calls.append(f"CreateSnapshot snapshot-{uid}")
        answer = self.answers.popleft() if self.answers else Answer.READY
        if answer in {Answer.REFUSED, Answer.UNCERTAIN}:
            error = {"message": f"Failed to create snapshot: {answer.value}"}
            content = await self._status(content, {"error": error, "readyToUse": False})
            if answer is Answer.REFUSED:
                await self._annotate(content, Annotation.SNAPSHOT_BEING_CREATED, None)
            return
        self.stored[f"handle-of-{name}"] = name
        done = {
            "snapshotHandle": f"handle-of-{name}",
            "creationTime": NANOSECONDS,
            "restoreSize": 1 << 30,
            "readyToUse": answer is Answer.READY,
            "error": None,
        }
        content = await self._status(content, done)
        await self._annotate(content, Annotation.SNAPSHOT_BEING_CREATED, None)

    async def _list(self, content: Doc) -> None:
        if not content["spec"]["volumeSnapshotRef"].get("uid"):
            return
        handle = content["spec"]["source"]["snapshotHandle"]
        self.calls.append(f"ListSnapshots {handle}")
        found = {
            "snapshotHandle": handle,
            "readyToUse": True,
            "creationTime": NANOSECONDS,
            "restoreSize": 1 << 30,
        }
        group = next((each for each, members in self.groups.items() if handle in members), None)
        await self._status(content, found | {"volumeGroupSnapshotHandle": group})

    async def _delete(self, content: Doc) -> None:
        status = content.get("status", {})
        handle = status.get("snapshotHandle")
        is_member = status.get("volumeGroupSnapshotHandle")
        if content["spec"]["deletionPolicy"] == "Delete" and handle and not is_member:
            self.calls.append(f"DeleteSnapshot {handle}")
            if self.deletes_fail:
                self.deletes_fail -= 1
                return
            self.stored.pop(handle, None)
        await self._let_go(SNAPSHOT_CONTENTS, content, Finalizer.SNAPSHOT_CONTENT)

    # groups

    async def _look_at_group(self, content: Doc) -> None:
        spec, status = content["spec"], content.get("status", {})
        notes = content["metadata"].get("annotations", {})
        is_created = Annotation.GROUP_SNAPSHOT_BEING_CREATED in notes
        is_marked = Annotation.GROUP_SNAPSHOT_BEING_DELETED in notes
        if "deletionTimestamp" in content["metadata"] and is_marked and not is_created:
            await self._delete_group(content)
        elif status.get("readyToUse") or not spec["volumeGroupSnapshotRef"].get("uid"):
            return
        elif "groupSnapshotHandles" in spec["source"]:
            group = spec["source"]["groupSnapshotHandles"]
            self.calls.append(f"GetVolumeGroupSnapshot {group['volumeGroupSnapshotHandle']}")
            self.groups[group["volumeGroupSnapshotHandle"]] = group["volumeSnapshotHandles"]
            handle = {"volumeGroupSnapshotHandle": group["volumeGroupSnapshotHandle"]}
            await self._group_status(content, handle | {"readyToUse": True, "creationTime": TAKEN})
        else:
            await self._create_group(content)

    async def _create_group(self, content: Doc) -> None:
        mark, url = Annotation.GROUP_SNAPSHOT_BEING_CREATED, GROUP_CONTENTS
        content = await self._annotate(content, mark, "yes", url)
        handles = content["spec"]["source"]["volumeHandles"]
        name = content["metadata"]["name"]
        self.calls.append(f"CreateVolumeGroupSnapshot {' '.join(sorted(handles))}")
        answer = self.answers.popleft() if self.answers else Answer.READY
        if answer in {Answer.REFUSED, Answer.UNCERTAIN}:
            error = {"message": f"Failed to create group snapshot: {answer.value}"}
            content = await self._group_status(content, {"error": error, "readyToUse": False})
            if answer is Answer.REFUSED:
                await self._annotate(content, mark, None, url)
            return
        group, is_ready = f"group-of-{name}", answer is Answer.READY
        self.groups[group] = [f"snap-of-{volume}" for volume in handles]
        told = [
            {
                "volumeHandle": volume,
                "snapshotHandle": f"snap-of-{volume}",
                "creationTime": NANOSECONDS,
                "readyToUse": is_ready,
                "restoreSize": 1 << 30,
            }
            for volume in handles[self.forgets_members :]
        ]
        status: Doc = {
            "volumeGroupSnapshotHandle": group,
            "readyToUse": is_ready,
            "creationTime": TAKEN,
            "volumeSnapshotInfoList": told,
            "error": None,
        }
        content = await self._group_status(content, status)
        await self._annotate(content, mark, None, url)

    async def _delete_group(self, content: Doc) -> None:
        handle = content.get("status", {}).get("volumeGroupSnapshotHandle")
        if content["spec"]["deletionPolicy"] == "Delete" and handle:
            self.calls.append(f"DeleteVolumeGroupSnapshot {handle}")
            self.groups.pop(handle, None)
        await self._let_go(GROUP_CONTENTS, content, Finalizer.GROUP_SNAPSHOT_CONTENT)

    # writing

    async def _annotate(
        self, content: Doc, key: str, value: str | None, url: str = SNAPSHOT_CONTENTS
    ) -> Doc:
        change = {"metadata": {"annotations": {key: value}}}
        return await self._patch(f"{url}/{content['metadata']['name']}", change)

    async def _status(self, content: Doc, status: Doc) -> Doc:
        name = content["metadata"]["name"]
        return await self._patch(f"{SNAPSHOT_CONTENTS}/{name}/status", {"status": status})

    async def _group_status(self, content: Doc, status: Doc) -> Doc:
        name = content["metadata"]["name"]
        return await self._patch(f"{GROUP_CONTENTS}/{name}/status", {"status": status})

    async def _let_go(self, url: str, content: Doc, finalizer: str) -> None:
        held = [each for each in content["metadata"].get("finalizers", []) if each != finalizer]
        name = content["metadata"]["name"]
        await self._patch(f"{url}/{name}", {"metadata": {"finalizers": held or None}})

    async def _patch(self, url: str, change: Doc) -> Doc:
        answer = await self.api.patch(url, change)
        assert answer.code == 200, answer.text
        return answer.doc
