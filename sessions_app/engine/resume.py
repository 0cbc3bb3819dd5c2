"""Finding the run to go on with in a new chat: what a query names, how well a run answers it, and which come first.

A run is placed in the best tier in which it matches; only inside a tier do the other things count. What is recent is told
by the clock: the number of a run's events says how long it is, not how long ago anybody worked on it.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import assert_never
from uuid import UUID

from sessions_app.engine.outputs import cut_text
from sessions_app.engine.runs import RunStatus
from teams_app.engine.errors import InvalidInputError
from teams_app.engine.ids import Prefix, from_text
from teams_app.engine.normal_forms import normalised

MAX_CANDIDATES = 5
MAX_TEXT_CHARACTERS = 1000
MAX_WORDS = 16
MAX_WORD_CHARACTERS = 64
LOW_SIGNAL_WEIGHT = 0.35
# Of what the words of a query weigh, so much must be found for a part of them to count.
PARTIAL_SHARE = 0.4
MAX_SNIPPET_BYTES = 2048

_CUT = "…"
_BEFORE_WORD_CHARACTERS = 200
_SHORTEST_PART = 3
_SHORTEST_STEM = 4
_ENDINGS = ("s", "d", "ed", "ing")
_WORD = re.compile(r"[^\W_](?:[\w-]*[^\W_])?")
_SHA = re.compile(r"[0-9a-f]{7,64}")
_TICKET = re.compile(r"\b[^\W\d_][^\W_]{1,15}[-_][0-9]{1,9}\b|(?<![\w#])(?:[\w.-]{1,64}/[\w.-]{1,64})?#[0-9]{1,9}\b")
# Of trackers that number by year or release: `DATA_2024-118`, `REL-2026.47`.
_LONG_TICKET = re.compile(r"\b[^\W\d_][^\W_]{1,15}[-_](?:[^\W_]{1,15}[-_.]){1,2}[0-9]{1,9}\b")
_LONGEST_TICKET, _MOST_WORDS_OF_A_TICKET = 64, 2
_AROUND_AN_ID = " \t\n`'\"<>()[]*.,;:"
_WORKFLOW_ID = re.compile(r"\b[a-z][a-z0-9_-]{0,127}\.[a-z][a-z0-9_-]*\b")
_BRANCH = re.compile(r"(?<![\w./:-])[\w.-]+(?:/[\w.-]+)+(?![\w/:])")
_ID = re.compile(r"\b(?:sess|run)_[a-z2-7]{26}\b")
_LIKE_AN_ID = re.compile(r"(?:sess|run)_[\w-]+")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]{0,30}://\S+")
_UNTELLABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
_BRANCH_ENDS = "/-_."
_BEFORE_A_BRANCH = re.compile(r"refs/heads/|(?:refs/remotes/)?origin/")
# A name of code, a file or a table: letters, with a sign between them that ends a word elsewhere.
_NAME_OF_CODE = re.compile(r"[./:@]\w")
_MOST_CUTS = 6
_COMPLETE = frozenset({RunStatus.COMPLETE, RunStatus.COMPLETE_WITH_GAPS})

# Words that are said of every piece of work. They count for little, and nothing is looked up by them.
_LOW_SIGNAL = """
    a about after again all also am an and any are around as at back be been before being but by can chat come continue
    continuing could did do does doing done find for from get give go going got had has have he her him his how i if in
    into is it its job just keep last latest left let like look looking me more most my need new next no not of off old on
    one open or our out over pick picking please previous project recent resume resuming run runs same see session sessions
    she should so some something started still stuff task tasks than that the their them then there these they thing
    things this those to today tomorrow up us use using want was we went were what when where which while who why will with
    work worked workflow workflows working would yesterday you your
    """
LOW_SIGNAL_WORDS = frozenset(_LOW_SIGNAL.split())
# Everybody is on one of these: that a run was there too tells nothing.
SHARED_BRANCHES = frozenset({"main", "master", "develop", "development", "dev", "trunk", "head"})


class Tier(IntEnum):
    """The smaller, the surer that this is the run that was meant."""

    IDENTIFIED = 1
    NAMED = 2
    NOTED = 3
    PARTLY = 4
    WORKFLOW = 5
    RECENT = 6


class Why(StrEnum):
    """What of a run answered the query, the most telling first."""

    RUN_ID = "matched_run_id"
    SESSION_ID = "matched_session_id"
    TICKET = "matched_ticket"
    HEAD_SHA = "matched_head_sha"
    BRANCH = "matched_branch"
    TITLE = "matched_title"
    BRANCH_PREFIX = "matched_branch_prefix"
    NOTES = "matched_notes"
    TITLE_PARTLY = "matched_title_partly"
    NOTES_PARTLY = "matched_notes_partly"
    WORKFLOW_ID = "matched_workflow_id"
    REPOSITORY = "matched_repository"
    RECENT = "recent_activity"


class Confidence(StrEnum):
    STRONG = "strong"
    MEDIUM = "medium"
    WEAK = "weak"


_ORDER = tuple(Why)
_TIER = {
    Why.RUN_ID: Tier.IDENTIFIED,
    Why.SESSION_ID: Tier.IDENTIFIED,
    Why.TICKET: Tier.IDENTIFIED,
    Why.HEAD_SHA: Tier.NAMED,
    Why.BRANCH: Tier.NAMED,
    Why.TITLE: Tier.NAMED,
    Why.BRANCH_PREFIX: Tier.NAMED,
    Why.NOTES: Tier.NOTED,
    Why.TITLE_PARTLY: Tier.PARTLY,
    Why.NOTES_PARTLY: Tier.PARTLY,
    Why.WORKFLOW_ID: Tier.WORKFLOW,
    Why.REPOSITORY: Tier.RECENT,
    Why.RECENT: Tier.RECENT,
}
# Either of these lets an agent go on without asking which run was meant; a title of the same words does not.
_SURE = frozenset({Why.HEAD_SHA, Why.BRANCH})


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeQuery:
    """What an agent knows of the work that it looks for. Everything may be empty: then the latest runs are named."""

    text: str = ""
    session_id: str = ""
    run_id: str = ""
    git_branch: str = ""
    git_head_sha: str = ""
    repository: str = ""
    ticket: str = ""
    workflow_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """A query read: each thing to look for, and where it is looked for. `words` are the telling ones; `as_written` are they
    where names of code stand among them, which notes and artifacts are indexed by as a whole.
    """

    session_ids: frozenset[UUID] = frozenset()
    run_ids: frozenset[UUID] = frozenset()
    tickets: frozenset[str] = frozenset()
    head_shas: frozenset[str] = frozenset()
    branches: frozenset[str] = frozenset()
    workflow_ids: frozenset[str] = frozenset()
    repository: str = ""
    words: tuple[str, ...] = ()
    low_signal_words: tuple[str, ...] = ()
    as_written: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """A run as the tables know it, with those of its notes that were found by the words of the query."""

    run_id: UUID
    session_id: UUID
    workflow_id: str
    session_title: str
    goal: str
    git_branch: str
    git_head_sha: str
    repository: str
    ticket: str
    status: RunStatus
    tip_node_id: UUID
    last_activity_at: datetime

    @property
    def is_complete(self) -> bool:
        return self.status in _COMPLETE


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A run in its tier. `score` is what its reasons weigh together."""

    run: RunFacts
    tier: Tier
    score: float
    same_repository: bool
    why: tuple[Why, ...]

    @property
    def confidence(self) -> Confidence:
        match self.tier:
            case Tier.IDENTIFIED:
                return Confidence.STRONG
            case Tier.NAMED:
                return Confidence.STRONG if _SURE & set(self.why) else Confidence.MEDIUM
            case Tier.NOTED:
                return Confidence.MEDIUM
            case Tier.PARTLY | Tier.WORKFLOW | Tier.RECENT:
                return Confidence.WEAK
            case _:
                assert_never(self.tier)


@dataclass(frozen=True, slots=True, kw_only=True)
class Haystack:
    """A text in the form in which words are looked for in it."""

    text: str
    words: frozenset[str] = field(default=frozenset())

    @staticmethod
    def of(text: str) -> "Haystack":
        normal = normalise(text)
        return Haystack(text=normal, words=frozenset(_WORD.findall(normal)))

    def has(self, word: str) -> bool:
        """The word, a word that holds it, or a longer spelling of a word that is here."""
        if word in self.words:
            return True
        if len(word) < _SHORTEST_PART:
            return False
        return stem(word) in self.text or any(
            len(known) >= _SHORTEST_STEM and word.startswith(known) and known not in LOW_SIGNAL_WORDS
            for known in self.words
        )


def normalise(text: str) -> str:
    return normalised("NFKC", text).lower()


def stem(word: str) -> str:
    """Without the s of a plural: the one ending that is worth cutting without knowing the language."""
    return word[:-1] if len(word) > _SHORTEST_STEM and word.endswith("s") and not word.endswith("ss") else word


def spellings(word: str) -> tuple[str, ...]:
    """The word with the commonest endings, for an index of whole words."""
    if len(word) < _SHORTEST_STEM or not word.isalnum():
        return (word,)
    base = stem(word)
    return tuple(dict.fromkeys((word, base, *(base + ending for ending in _ENDINGS))))


def read_signals(query: ResumeQuery) -> Signals:
    """What to look for. Ids, tickets, commits and branches are also found where they stand in the text.

    An id that was given as one and is none is refused: whatever were found instead would not be what was asked for.
    """
    _refuse_no_id(Prefix.SESSION, query.session_id, "sessionId")
    _refuse_no_id(Prefix.RUN, query.run_id, "runId")
    told = _UNTELLABLE.sub(" ", query.text[:MAX_TEXT_CHARACTERS])
    text = _ADDRESS.sub(" ", told)
    ids = _ID.findall(told)
    words = _words_of(text)
    return Signals(
        session_ids=_ids(Prefix.SESSION, [query.session_id, *ids]),
        run_ids=_ids(Prefix.RUN, [query.run_id, *ids]),
        tickets=frozenset(_tickets(query.ticket, told)),
        head_shas=frozenset(_shas(query.git_head_sha, text)),
        branches=frozenset(_branches(query.git_branch, text)),
        workflow_ids=frozenset(_told([query.workflow_id, *_WORKFLOW_ID.findall(text.lower())])),
        repository=_tellable(query.repository),
        words=tuple(word for word in words if word not in LOW_SIGNAL_WORDS and not _is_sha(word)),
        low_signal_words=tuple(word for word in words if word in LOW_SIGNAL_WORDS),
        as_written=_as_written(text),
    )


def _refuse_no_id(prefix: Prefix, text: str, name: str) -> None:
    if text.strip() and from_text(prefix, _bare(text)) is None:
        form = f"{prefix.value}_ and 26 letters and digits"
        raise InvalidInputError(
            f"{name} is no id of ours; one is {form}.",
            suggestion=f"Leave {name} out and tell in query what you know, or copy it from a reply exactly.",
            details={"validationErrors": [{"path": name, "message": f"Write {form}."}]},
        )


def _words_of(text: str) -> list[str]:
    found = (word[:MAX_WORD_CHARACTERS] for word in _WORD.findall(_ID.sub(" ", normalise(text))))
    return list(dict.fromkeys(found))[:MAX_WORDS]


def _is_sha(word: str) -> bool:
    """Only with digits and letters: a number is no commit, and neither is a word of the letters a to f."""
    return _SHA.fullmatch(word) is not None and not word.isdigit() and not word.isalpha()


def _ids(prefix: Prefix, texts: Iterable[str]) -> frozenset[UUID]:
    found = (from_text(prefix, _bare(text)) for text in texts)
    return frozenset(value for value in found if value is not None)


def _bare(text: str) -> str:
    return text.strip(_AROUND_AN_ID).lower()


def _as_written(text: str) -> str:
    """The telling words with the signs inside of them; empty where there are none."""
    parts = [part.strip(_AROUND_AN_ID) for part in normalise(_ID.sub(" ", text)).split()]
    told = [part for part in parts if part and part not in LOW_SIGNAL_WORDS][:MAX_WORDS]
    return " ".join(told) if any(map(_NAME_OF_CODE.search, told)) else ""


def _tickets(given: str, text: str) -> Iterable[str]:
    """As written and in the two cases in which trackers print them, with and without a sign before a bare number: they are looked
    up by equality. What is all that was said, in a word or two, may be a ticket of any form that has a digit.
    """
    is_short = len(text.strip()) <= _LONGEST_TICKET and len(text.split()) <= _MOST_WORDS_OF_A_TICKET
    whole = text.strip() if is_short and any(map(str.isdigit, text)) else ""
    plain = _ADDRESS.sub(" ", text)
    named = [*_TICKET.findall(plain), *_LONG_TICKET.findall(plain), *_tickets_in_addresses(f"{given} {text}")]
    for ticket in _told([given, given.strip(_AROUND_AN_ID), whole, *named]):
        yield from (ticket, ticket.upper(), ticket.lower(), ticket.removeprefix("#"))


def _tickets_in_addresses(text: str) -> Iterable[str]:
    """Where it is a part of the path, or the number at its end, as trackers address them."""
    for address in _ADDRESS.findall(text):
        parts = [part for part in re.split("[?#]", address, maxsplit=1)[0].strip(_AROUND_AN_ID).split("/") if part]
        for part in parts[2:]:
            if _TICKET.fullmatch(part) or _LONG_TICKET.fullmatch(part):
                yield part
        if parts[3:] and parts[-1].isdecimal():
            yield f"#{parts[-1]}"


def _shas(given: str, text: str) -> Iterable[str]:
    told = given.strip().lower()
    if _SHA.fullmatch(told):
        yield told
    yield from filter(_is_sha, _words_of(text))


def _branches(given: str, text: str) -> list[str]:
    """As given, and without what git writes before its name."""
    told = _told([given.strip(_AROUND_AN_ID), *_BRANCH.findall(text)])
    named = dict.fromkeys(name for branch in told for name in (branch, _own_name(branch)))
    return [branch for branch in named if _own_name(branch).lower() not in SHARED_BRANCHES]


def _own_name(branch: str) -> str:
    found = _BEFORE_A_BRANCH.match(branch)
    return branch[found.end() :] if found else branch


def _told(values: Iterable[str]) -> list[str]:
    return [told for told in map(_tellable, values) if told]


def _tellable(value: str) -> str:
    """The value as a column could hold it, or nothing."""
    text = value.strip()
    return "" if _UNTELLABLE.search(text) or len(text) > MAX_TEXT_CHARACTERS else text


def words_needed(count: int) -> int:
    """Of so many telling words, how many a text must have for a part of them to count."""
    return max(1, -(-int(count * PARTIAL_SHARE * 100) // 100))


def match_run(run: RunFacts, signals: Signals, *, notes: str = "") -> Match:
    """Where a run stands. Any run stands somewhere: one that answers nothing is at least recent."""
    weighed = dict(_reasons(run, signals, notes))
    same_repository = bool(signals.repository) and repository_key(run.repository) == repository_key(signals.repository)
    if same_repository:
        weighed[Why.REPOSITORY] = 0.0
    if not weighed:
        weighed[Why.RECENT] = 0.0
    why = tuple(reason for reason in _ORDER if reason in weighed)
    return Match(
        run=run,
        tier=min(_TIER[reason] for reason in why),
        score=round(sum(weighed.values()), 6),
        same_repository=same_repository,
        why=why,
    )


def _reasons(run: RunFacts, signals: Signals, notes: str) -> Iterable[tuple[Why, float]]:
    if run.run_id in signals.run_ids:
        yield Why.RUN_ID, 2.0
    if run.session_id in signals.session_ids:
        yield Why.SESSION_ID, 1.0
    if run.ticket and run.ticket in signals.tickets:
        yield Why.TICKET, 1.0
    if run.git_head_sha and any(run.git_head_sha.lower().startswith(sha) for sha in signals.head_shas):
        yield Why.HEAD_SHA, 1.0
    yield from _branch_reason(run.git_branch, signals.branches)
    labels = f"{run.git_branch} {run.ticket} {run.workflow_id}"
    titles = f"{run.session_title}\n{run.goal}"
    yield from _word_reason(titles, labels, signals, whole=Why.TITLE, part=Why.TITLE_PARTLY)
    yield from _word_reason(notes, labels, signals, whole=Why.NOTES, part=Why.NOTES_PARTLY)
    if names_workflow(run.workflow_id, signals):
        yield Why.WORKFLOW_ID, 1.0


def names_workflow(workflow_id: str, signals: Signals) -> bool:
    """Its id, or every word of its name: "bug investigation" for `wr.bug-investigation`."""
    if workflow_id in signals.workflow_ids:
        return True
    wanted = Haystack.of(" ".join((*signals.words, *signals.low_signal_words)))
    name = workflow_id.rpartition(".")[2]
    parts = [part for part in re.split("[-_]", name) if part]
    return bool(parts) and (name in wanted.words or wanted.words.issuperset(parts))


def _branch_reason(branch: str, wanted: Iterable[str]) -> Iterable[tuple[Why, float]]:
    mine = branch.lower()
    others = [other.lower() for other in wanted]
    if mine and mine in others:
        yield Why.BRANCH, 1.0
    elif mine and any(is_near(mine, other) for other in others):
        yield Why.BRANCH_PREFIX, 0.5


def is_near(branch: str, wanted: str) -> bool:
    """The branch begins with what was given, or it is what was given cut at a place where branches are cut."""
    if len(wanted) >= _SHORTEST_PART and branch.startswith(wanted):
        return True
    return branch in near_branches(wanted)


def near_branches(branch: str) -> tuple[str, ...]:
    """The shorter branches that this one may have been taken from: itself cut at each place where branches are cut."""
    cuts = [index for index, char in enumerate(branch) if char in _BRANCH_ENDS and index >= _SHORTEST_PART]
    return tuple(branch[:index] for index in cuts[-_MOST_CUTS:])


def _word_reason(text: str, labels: str, signals: Signals, *, whole: Why, part: Why) -> Iterable[tuple[Why, float]]:
    """A word that names the run's branch, ticket or workflow is answered by those; one at least must be in the text."""
    if not signals.words or not text:
        return
    haystack, beside = Haystack.of(text), Haystack.of(labels)
    in_text = [word for word in signals.words if haystack.has(word)]
    found = [word for word in signals.words if word in in_text or beside.has(word)]
    if not in_text or len(found) < words_needed(len(signals.words)):
        return
    low = [word for word in signals.low_signal_words if word in haystack.words]
    weight = len(found) + LOW_SIGNAL_WEIGHT * len(low)
    share = weight / (len(signals.words) + LOW_SIGNAL_WEIGHT * len(signals.low_signal_words))
    yield (whole if len(found) == len(signals.words) else part), share


def repository_key(repository: str) -> str:
    """The same for each way of writing one address: https, ssh, with and without `.git`."""
    text = repository.strip().lower().removesuffix("/").removesuffix(".git")
    text = re.sub(r"^[a-z+]+://", "", text)
    text = re.sub(r"^[^@/]+@", "", text)
    return re.sub(r"^([^/:]+):(?!\d+/)", r"\1/", text)


def rank(matches: Iterable[Match]) -> tuple[Match, ...]:
    """In order, each run once, at most five. What is merely recent is left out when something better is there."""
    best: dict[UUID, Match] = {}
    for match in matches:
        known = best.get(match.run.run_id)
        if known is None or place_of(match) < place_of(known):
            best[match.run.run_id] = match
    ordered = sorted(best.values(), key=place_of)
    if ordered and not is_in_doubt(ordered):
        ordered = [match for match in ordered if match.tier is not Tier.RECENT]
    return tuple(ordered[:MAX_CANDIDATES])


def is_told_by_id(matches: Iterable[Match]) -> bool:
    """The run or its session was given by its id, so there is nothing to look for."""
    return any(not {Why.RUN_ID, Why.SESSION_ID}.isdisjoint(match.why) for match in matches)


def is_merely_recent(matches: Iterable[Match]) -> bool:
    """Nothing that was asked for is in any of them."""
    return all(match.tier is Tier.RECENT for match in matches)


def id_in(text: str) -> str:
    """The id that a query names among its words, or that is meant as one and is all of it."""
    found = _ID.search(text) or _LIKE_AN_ID.fullmatch(text.strip())
    return found.group() if found else ""


def is_in_doubt(matches: Iterable[Match]) -> bool:
    """Nothing fits so well that what is merely recent need not be named."""
    return all(match.tier > Tier.NOTED for match in matches)


def place_of(match: Match) -> tuple[int, bool, bool, float, float, bytes]:
    """The smaller, the earlier: tier, then same repository, then not complete, then score, then the clock, then the id."""
    run = match.run
    return (
        match.tier,
        not match.same_repository,
        run.is_complete,
        -match.score,
        -run.last_activity_at.timestamp(),
        run.run_id.bytes,
    )


def snippet_of(notes: str, words: Iterable[str]) -> str:
    """As much of the notes as fits, from a little before the first of the words when it would not be in sight."""
    text = notes.strip()
    size = len(text.encode("utf-8"))
    if size <= MAX_SNIPPET_BYTES:
        return text
    normal = text.lower()
    places = [place for place in (normal.find(stem(word)) for word in words) if place >= 0]
    begin = max(0, min(places, default=0) - _BEFORE_WORD_CHARACTERS)
    if begin:
        room = MAX_SNIPPET_BYTES - len(_CUT.encode("utf-8"))
        return _CUT + cut_text(text[begin:].lstrip(), max_bytes=room, marker=_CUT)
    return cut_text(text, max_bytes=MAX_SNIPPET_BYTES, marker=_CUT)
