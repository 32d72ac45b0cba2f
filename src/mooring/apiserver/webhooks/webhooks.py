"""Asks the webhooks that a write concerns: those that may change it one after the other, those
that may only refuse it all at once.

The configurations are followed, so that a write which concerns nobody costs a look into a
dictionary. Nothing of admissionregistration.k8s.io is ever asked about: a webhook that refuses
everything can be taken away.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence

import msgspec

from mooring import log
from mooring.apiserver.admission.contract import AdmissionAttributes, Objects
from mooring.apiserver.admission.judging import Judging
from mooring.apiserver.cel.errors import CelError
from mooring.apiserver.cel.expression import Budget
from mooring.apiserver.documents.document import decode
from mooring.apiserver.documents.following import Follower
from mooring.apiserver.kinds.contract import Kind
from mooring.apiserver.kinds.registry import Kinds
from mooring.apiserver.kinds.webhook_configuration import GROUP
from mooring.apiserver.limits.turns import round_trip
from mooring.apiserver.patching.json_patch import json_patch
from mooring.apiserver.policies.judging import MOST_COST, holds_for
from mooring.apiserver.policies.variables import Authorize, variables_of
from mooring.apiserver.request.refusals import forbidden, refusal_of
from mooring.apiserver.store.contract import Store
from mooring.apiserver.webhooks.asking import Asking
from mooring.apiserver.webhooks.contract import Hook, read_hooks
from mooring.apiserver.webhooks.conversions import Conversions
from mooring.apiserver.webhooks.reach import CallFailed
from mooring.apiserver.webhooks.review import BadAnswer, HookAnswer, question, read_answer
from mooring.errors import ApiError, InternalError
from mooring.model.document import Doc

_log = log.get("mooring.webhooks")

MUTATING, VALIDATING = "mutatingwebhookconfigurations", "validatingwebhookconfigurations"
MOST_WARNING = 1024  # characters
MOST_ANNOTATIONS = 64  # that one answer has recorded
_LEAST_REFUSAL = 400
Concerned = Sequence[tuple[Hook, Kind]]
Refill = Callable[[Doc], object]
"""Makes a patched document whole again: checked against its schema, defaults set."""


class Asked(msgspec.Struct, frozen=True):
    """Who was asked to change a write, in their order, and what came of it."""

    hooks: Concerned
    changed: bool = False
    changed_after: bool = False  # after one of them had been asked


NOBODY = Asked(())


class Webhooks:
    """The webhooks of one server."""

    def __init__(
        self,
        store: Store,
        kinds: Kinds,
        objects: Objects,
        authorize: Authorize,
        asking: Asking,
        conversions: Conversions,
        judging: Judging,
    ) -> None:
        self._judging = judging
        self._store = store
        self._kinds = kinds
        self._objects = objects
        self._authorize = authorize
        self._asking = asking
        self._conversions = conversions
        self._hooks: dict[str, tuple[Hook, ...]] = {}
        self._concerned: dict[tuple[str, Kind, str, str], Concerned] = {}
        self._generation = kinds.generation
        Follower(
            store,
            kinds,
            lambda _kind, _entry: self._forget(),
            lambda _kind, _event: self._forget(),
            lambda kind: kind.plural in (MUTATING, VALIDATING) and kind.group == GROUP,
        ).start()
        self._forget()

    async def close(self) -> None:
        await self._conversions.close()
        await self._asking.close()

    def concern(self, stage: str, attributes: AdmissionAttributes) -> Concerned:
        """The webhooks of one stage whose rules name this write, in their order."""
        if not self._hooks:
            self._read()
        if not self._hooks[stage]:
            return ()
        if self._generation != self._kinds.generation:
            self._concerned.clear()
            self._generation = self._kinds.generation
        part = attributes.subresource
        key = (stage, attributes.kind, part, attributes.operation.value)
        found = self._concerned.get(key)
        if found is None:
            found = self._concerned[key] = tuple(self._covering(stage, attributes))
        return found

    def is_asked(self, attributes: AdmissionAttributes) -> bool:
        """Whether the rules of any webhook name this write."""
        return any(self.concern(stage, attributes) for stage in (MUTATING, VALIDATING))

    async def mutate(self, attributes: AdmissionAttributes, refill: Refill) -> Asked:
        """Let them change `attributes.new`, in place. Raises: ApiError when one refuses."""
        concerned = self.concern(MUTATING, attributes)
        if not concerned:
            return NOBODY
        await round_trip()  # so that `at_once` sees that this takes a while
        asked: list[tuple[Hook, Kind]] = []
        changed = changed_after = False
        for hook, kind in concerned:
            if await self._selects(hook, kind, attributes):
                is_changed = await self._mutate(hook, kind, attributes, refill)
                changed = changed or is_changed
                changed_after = changed_after or (is_changed and bool(asked))
                asked.append((hook, kind))
        return Asked(asked, changed, changed_after)

    async def mutate_again(
        self, attributes: AdmissionAttributes, refill: Refill, asked: Asked, *, is_changed: bool
    ) -> None:
        """The same of those that want to see what has changed since: after the first of them, or
        `is_changed`, after all. Raises: ApiError."""
        if is_changed or asked.changed_after:
            for hook, kind in asked.hooks:
                if hook.is_reinvoked and await self._selects(hook, kind, attributes):
                    await self._mutate(hook, kind, attributes, refill)

    async def judge(self, attributes: AdmissionAttributes) -> None:
        """Raises: ApiError when one refuses."""
        concerned = self.concern(VALIDATING, attributes)
        if not concerned:
            return
        await round_trip()  # so that `at_once` sees that this takes a while
        chosen = [pair for pair in concerned if await self._selects(*pair, attributes)]
        answers = await asyncio.gather(
            *(self._ask(hook, kind, attributes, may_patch=False) for hook, kind in chosen),
            return_exceptions=True,
        )
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
        for (hook, _), answer in zip(chosen, answers, strict=True):
            if isinstance(answer, HookAnswer):
                _heed(hook, answer, attributes)

    async def _mutate(
        self, hook: Hook, kind: Kind, attributes: AdmissionAttributes, refill: Refill
    ) -> bool:
        """Whether it has changed something."""
        answer = await self._ask(hook, kind, attributes, may_patch=True)
        if answer is None:
            return False
        _heed(hook, answer, attributes)
        doc = attributes.new
        if not answer.patch or doc is None:
            return False
        shown = (await self._shown(attributes, kind)).new
        try:
            new = json_patch(dict(shown or {}), answer.patch)
            new["apiVersion"] = kind.api_version
            new = await self._conversions.in_version(new, kind, attributes.kind) or new
            new.setdefault("metadata", {})
            refill(new)
        except (ApiError, ValueError) as error:
            told = f'admission webhook "{hook.name}" returned a patch that cannot be used: {error}'
            raise InternalError(f"Internal error occurred: {told}") from error
        if new == doc:
            return False
        doc.clear()
        doc.update(new)
        return True

    async def _ask(
        self, hook: Hook, kind: Kind, attributes: AdmissionAttributes, *, may_patch: bool
    ) -> HookAnswer | None:
        """None: it could not be asked, and does not mind. Raises: InternalError when it does."""
        try:
            uid = self._asking.new_uid()
            body = question(hook, await self._shown(attributes, kind), kind, uid)
            content = await self._asking.post(hook.client, body, hook.seconds)
            return read_answer(content, hook, uid, may_patch=may_patch)
        except BadAnswer as error:
            failure = f"received invalid webhook response: {error}"
        except CallFailed as error:
            failure = f"failed to call webhook: {error}"
        if hook.fails_closed:
            told = f'failed calling webhook "{hook.name}": {failure}'
            raise InternalError(f"Internal error occurred: {told}")
        _log.warning("a webhook failed, and is passed over", webhook=hook.name, because=failure)
        return None

    async def _shown(self, attributes: AdmissionAttributes, kind: Kind) -> AdmissionAttributes:
        """With its objects in the version that the rules of a webhook name. Raises: ServerError."""
        if kind is attributes.kind:
            return attributes
        return msgspec.structs.replace(
            attributes,
            new=await self._conversions.in_version(attributes.new, attributes.kind, kind),
            old=await self._conversions.in_version(attributes.old, attributes.kind, kind),
        )

    def _covering(self, stage: str, attributes: AdmissionAttributes) -> Iterable[tuple[Hook, Kind]]:
        if attributes.kind.group == GROUP:
            return
        for hook in self._hooks[stage]:
            kind = hook.scope.named_kind(attributes, self._kinds)
            if kind is not None:
                yield hook, kind

    async def _selects(self, hook: Hook, kind: Kind, attributes: AdmissionAttributes) -> bool:
        """Whether its selectors and conditions choose the object. Raises: Forbidden."""
        if not hook.scope.selects(attributes, self._objects):
            return False
        if not hook.conditions:
            return True
        values = variables_of(attributes, kind, self._objects, self._authorize)
        try:
            return await self._judging.judge(
                attributes.origin, lambda: holds_for(hook.conditions, values, Budget(MOST_COST))
            )
        except CelError as error:
            if hook.fails_closed:
                told = f"failed to evaluate match conditions of webhook {hook.name}: {error}"
                raise forbidden(attributes.kind, attributes.name, told) from error
            return False

    def _forget(self) -> None:
        self._hooks = {}
        self._concerned = {}

    def _read(self) -> None:
        self._hooks = {
            plural: tuple(
                hook
                for doc in sorted(
                    self._configurations(plural), key=lambda doc: doc["metadata"]["name"]
                )
                for hook in read_hooks(doc)
            )
            for plural in (MUTATING, VALIDATING)
        }

    def _configurations(self, plural: str) -> Iterable[Doc]:
        kind = self._kinds.find(GROUP, "v1", plural)
        if kind is None:
            return ()
        page = self._store.range(kind.store_table)
        return (decode(kind, entry) for entry in page.entries)


def _heed(hook: Hook, answer: HookAnswer, attributes: AdmissionAttributes) -> None:
    attributes.warnings.extend(text[:MOST_WARNING] for text in answer.warnings)
    fields = {"webhook": hook.name, **attributes.log_fields}
    for key, value in answer.annotations[:MOST_ANNOTATIONS]:
        _log.info("annotated by a webhook", **fields, key=key, value=value)
    if left_out := len(answer.annotations[MOST_ANNOTATIONS:]):
        _log.warning("annotations of a webhook are left out", **fields, count=left_out)
    if not answer.allowed:
        raise _denied(hook.name, answer.status)


def _denied(name: str, status: Doc) -> ApiError:
    told, reason = status.get("message"), status.get("reason")
    why = f": {told or reason}" if told or reason else " without explanation"
    code = status.get("code")
    code = code if isinstance(code, int) and _LEAST_REFUSAL <= code < 600 else _LEAST_REFUSAL
    refusal = refusal_of(code, reason if isinstance(reason, str) else "")
    details = status.get("details")
    return refusal(
        f'admission webhook "{name}" denied the request{why}',
        details=details if isinstance(details, dict) else None,
    )
