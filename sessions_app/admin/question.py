"""The page of a question: what Workrail recorded, what the agent says, and the answer."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, assert_never
from uuid import UUID

import orjson

from sessions_app.admin import artifacts, naming, showing, states
from sessions_app.engine.checkpoints import UNANSWERED, Authority, CheckpointState
from sessions_app.engine.values import OutputValue
from sessions_app.selectors.checkpoints import CheckpointValue
from sessions_app.selectors.evidence import Evidence
from teams_app.admin.pages import Refused
from teams_app.admin.parts import State
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.counting import counted
from teams_app.engine.ids import Prefix, to_text

REASON_NEEDED = frozenset({states.SEND_BACK, states.REJECT})
_EFFECTS = {
    states.APPROVE: "The agent goes on with the next step.",
    states.SEND_BACK: "The agent works on this step again and asks you anew.",
    states.REJECT: "The run ends here.",
}
_SUBMITS = {states.REJECT: "Reject and end the run"}
_MOST_NAMED = 8
_MOST_BESIDE, _SHORT_CHARACTERS = 3, 14
_ENDINGS = {1: "st", 2: "nd", 3: "rd"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownOption:
    """`place` counts from 1: the stylesheet shows the button and the effect of the one that is chosen by it."""

    id: str
    label: str
    effect: str
    submit: str
    place: int
    is_first: bool
    is_stop: bool
    needs_reason: bool
    is_chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    label: str
    shape: str
    text: str
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownChange:
    """“Added to the notes: Rollback, Afterwards”."""

    verb: str
    where: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierAnswer:
    who: str
    said: str
    state: State
    question: str
    url: str
    reason: str
    at: datetime | None


def shown_options(value: CheckpointValue, refused: Refused | None) -> list[ShownOption]:
    chosen = refused.typed.get("option", "") if refused else ""
    return [
        ShownOption(
            id=option.id,
            label=option.label,
            effect=option.description or _EFFECTS.get(option.id, ""),
            submit=_SUBMITS.get(option.id, option.label),
            place=place,
            is_first=option.id == states.APPROVE,
            is_stop=option.id == states.REJECT,
            needs_reason=option.id in REASON_NEEDED,
            is_chosen=option.id == chosen,
        )
        for place, option in enumerate(value.options, start=1)
    ]


def glances(value: CheckpointValue, evidence: Evidence, now: datetime) -> list[Glance]:
    asked = 1 + len(evidence.same)
    shown = [
        Glance(
            label="This question",
            shape="sentback" if evidence.same else "waiting",
            text="Asked once" if asked == 1 else f"Asked again, {_ordinal(asked)} time",
        ),
    ]
    for child in evidence.children[:2]:
        state = states.run_state(child.status, last_activity_at=now, now=now)
        shown.append(Glance(label=child.title, shape=state.shape, text=state.word, url=showing.run_url(child.id)))
    handed_in = [output for output in evidence.brought if not artifacts.is_notes(output)]
    if handed_in and not evidence.brought_before:
        shown.append(Glance(label="Handed in", shape="done", text=counted(len(handed_in), "document")))
    gaps = [gap for gap in evidence.gaps if not showing.is_unnoted(gap)]
    if gaps:
        shown.append(Glance(label="Open gaps", shape="warning", text=counted(len(gaps), "gap"), url="#gaps"))
    else:
        shown.append(Glance(label="Open gaps", shape="done", text="None"))
    shown.append(_may_answer(value))
    return shown[:4]


def changes(evidence: Evidence) -> tuple[list[ShownChange], list[str]]:
    """What is new since the question was sent back, and the headings of the notes that were not there."""
    if not evidence.same or evidence.brought_before:
        return [], []
    now, before = _sections(evidence.brought), _sections(evidence.before)
    new = [name for name in now if name and name not in before]
    other = [name for name in now if name in before and now[name] != before[name]]
    found = [
        ShownChange(verb="Added", where="the notes", names=tuple(new)),
        ShownChange(verb="Changed", where="the notes", names=tuple(name or "their beginning" for name in other)),
        ShownChange(
            verb="Removed", where="the notes", names=tuple(name for name in before if name and name not in now)
        ),
        *_file_changes(evidence),
    ]
    return [each for each in found if each.names], new


def earlier_answers(actor: Actor, answered: Iterable[CheckpointValue], names: dict[str, str]) -> list[EarlierAnswer]:
    return [
        EarlierAnswer(
            who=_who(actor, value, names),
            said=states.answer_word(option_id=value.option_id, label=naming.option_label(value)),
            state=states.question_state(state=value.state, option_id=value.option_id),
            question=naming.question_name(value),
            url=showing.checkpoint_url(value.id),
            reason=value.reason,
            at=value.answered_at,
        )
        for value in answered
    ]


def rights(actor: Actor, value: CheckpointValue) -> dict[str, bool]:
    """What the page offers; the services decide."""
    may = actor.may(Permission.ANSWER_CHECKPOINTS)
    waits = value.state in UNANSWERED
    return {
        "may_answer": may and waits and value.claimed_by in {"", actor.id},
        "may_claim": may and waits and not value.claimed_by,
        "may_release": may and waits and bool(value.claimed_by),
        "is_mine": value.claimed_by == actor.id,
        "waits": waits,
    }


def context_of(
    *,
    actor: Actor,
    value: CheckpointValue,
    evidence: Evidence,
    names: dict[str, str],
    now: datetime,
    refused: Refused | None,
) -> dict[str, Any]:
    is_open = value.state is CheckpointState.OPEN
    changed, new = changes(evidence)
    last = evidence.same[-1] if evidence.same else None
    claimed_by = names.get(value.claimed_by, value.claimed_by)
    return {
        "value": value,
        "public_id": to_text(Prefix.CHECKPOINT, value.id),
        "state": states.question_state(
            state=value.state,
            option_id=value.option_id,
            is_overdue=value.is_overdue(now),
            is_claimed_by_another=bool(value.claimed_by) and value.claimed_by != actor.id,
        ),
        "question": showing.notes_html(value.message),
        "agent": names.get(evidence.run.created_by, ""),
        "run_name": naming.run_name(
            goal=value.goal,
            name=value.run_name,
            session_title=evidence.session_title,
            workflow_title=value.workflow_title,
        ),
        "run_url": showing.run_url(value.run_id),
        "ticket": evidence.ticket,
        "glances": glances(value, evidence, now),
        "sent_back": last if last is not None and last.option_id == states.SEND_BACK else None,
        "asked_before": last,
        "sent_back_by": "you" if last is not None and last.answered_by == actor.id else _name_of(last, names),
        "changes": changed,
        "notes": [artifacts.shown_notes(each, new=new) for each in evidence.brought if artifacts.is_notes(each)],
        "artifacts": [artifacts.shown_artifact(each) for each in evidence.brought if not artifacts.is_notes(each)],
        "brought_before": evidence.brought_before,
        "gaps": [showing.shown_gap(gap) for gap in evidence.gaps if not showing.is_unnoted(gap)],
        "unnoted": sum(showing.is_unnoted(gap) for gap in evidence.gaps),
        "earlier": earlier_answers(actor, evidence.others, names),
        "newer_url": showing.checkpoint_url(evidence.newer) if evidence.newer else "",
        "options": shown_options(value, refused),
        # On a phone three short ones stand beside each other.
        "options_are_many": len(value.options) > _MOST_BESIDE
        or any(len(option.label) > _SHORT_CHARACTERS for option in value.options),
        "typed": refused.typed if refused else {},
        "claimed_by": claimed_by,
        "answered": naming.how_answered(value, names.get(value.answered_by, value.answered_by)),
        "chosen": naming.option_label(value),
        "is_open": is_open,
        "is_relayed": value.authority is Authority.RELAYED,
        **rights(actor, value),
    }


def asked_ids(value: CheckpointValue, evidence: Evidence) -> set[str]:
    """The actors whose names the page needs."""
    people = {value.claimed_by, value.answered_by, evidence.run.created_by}
    people |= {each.answered_by for each in (*evidence.others, *evidence.same)}
    return people - {""}


def _may_answer(value: CheckpointValue) -> Glance:
    match value.authority:
        case Authority.HUMAN:
            return Glance(label="Who may answer", shape="question", text="People only")
        case Authority.RELAYED:
            return Glance(label="Who may answer", shape="question", text="The agent may pass one on")
        case Authority.DEFAULT:
            return Glance(label="Who may answer", shape="question", text="Nobody has to")
        case _:
            assert_never(value.authority)


def _who(actor: Actor, value: CheckpointValue, names: dict[str, str]) -> str:
    if value.answered_as is Authority.DEFAULT:
        return "The workflow"
    return "You" if value.answered_by == actor.id else _name_of(value, names)


def _name_of(value: CheckpointValue | None, names: dict[str, str]) -> str:
    return "" if value is None else names.get(value.answered_by, "somebody who has left")


def _sections(brought: Sequence[OutputValue]) -> dict[str, str]:
    """Notes by their headings; what stands before the first is under the empty one."""
    found: dict[str, str] = {}
    for output in brought:
        if artifacts.is_notes(output):
            at = ""
            for line in output.body.splitlines():
                heading = artifacts.headings_of(line)
                at = heading[0] if heading else at
                if not heading:
                    found[at] = f"{found.get(at, '')}{line.strip()}\n"
    return {name: text.strip() for name, text in found.items() if name or text.strip()}


def _file_changes(evidence: Evidence) -> list[ShownChange]:
    now, before = _files(evidence.brought), _files(evidence.before)
    return [
        ShownChange(
            verb="Added", where="the files", names=tuple(name for name in now if name not in before)[:_MOST_NAMED]
        ),
        ShownChange(
            verb="Changed",
            where="the files",
            names=tuple(name for name in now if name in before and now[name] != before[name])[:_MOST_NAMED],
        ),
        ShownChange(
            verb="Removed", where="the files", names=tuple(name for name in before if name not in now)[:_MOST_NAMED]
        ),
    ]


def _files(brought: Sequence[OutputValue]) -> dict[str, str]:
    found: dict[str, str] = {}
    for output in brought:
        if not artifacts.is_notes(output):
            shown = artifacts.shown_artifact(output)
            if shown.diff is not None:
                found |= {each.path: "\n".join(line.text for line in each.lines) for each in shown.diff.files}
            else:
                found[shown.title] = orjson.dumps(orjson.loads(output.body)).decode()
    return found


def _ordinal(number: int) -> str:
    if 10 <= number % 100 <= 20:
        return f"{number}th"
    return f"{number}{_ENDINGS.get(number % 10, 'th')}"


def next_of(ids: Sequence[UUID], at: UUID) -> tuple[UUID | None, UUID | None, int]:
    """The one before, the one after, and the place from 1; 0 when it is not one of them."""
    place = ids.index(at) if at in ids else -1
    if place < 0:
        return None, ids[0] if ids else None, 0
    return ids[place - 1] if place else None, ids[place + 1] if place + 1 < len(ids) else None, place + 1
