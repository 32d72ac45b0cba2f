"""Makes a situation, asks why, runs the command that helps, and asks again."""

from collections.abc import Callable
from pathlib import Path

from mooring.why.answer import Answer, Verdict
from tests.clients.why.situations import Situation, named
from tests.clients.why.stage import Stage

TRIES = 400  # of 50 ms and more


def heal(stage: Stage, situation: Situation, place: Path) -> None:
    namespace = stage.namespace
    for doc in named(situation.objects, namespace):
        stage.create(doc)
    situation.begin(stage)
    subject = situation.subject.replace("$NS", namespace)
    cause = situation.cause.replace("$NS", namespace)
    helps = situation.helps.replace("$NS", namespace)
    answer = _ask(stage, subject, lambda it: cause in it.summary and _fix(it, helps) != "")
    assert answer.verdict in {Verdict.BROKEN, Verdict.WAITING}, answer
    assert cause in answer.summary, answer
    command = _fix(answer, helps)
    assert command, f"no fix says {helps!r}: {answer.fixes}"
    ran = stage.run(command, place)
    assert ran.code == 0, f"{command}\n{ran.out}{ran.err}"
    situation.end(stage)
    healed = _ask(stage, subject, lambda it: _is_over(it, cause))
    assert _is_over(healed, cause), f"after {command}\n{ran.out}\n{healed}"


def _ask(stage: Stage, subject: str, wanted: Callable[[Answer], bool]) -> Answer:
    """The first answer that is as wanted, or the last one."""
    answer = stage.why(subject)
    for _ in range(TRIES):
        if wanted(answer):
            break
        stage.pause()
        answer = stage.why(subject)
    return answer


def _is_over(answer: Answer, cause: str) -> bool:
    """Another object may be waited for now, a subject may be gone; nothing is broken."""
    return cause not in answer.summary and answer.verdict is not Verdict.BROKEN


def _fix(answer: Answer, helps: str) -> str:
    return next((fix.command for fix in answer.fixes if helps in fix.what_it_does), "")
