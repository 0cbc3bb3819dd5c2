"""What a query for earlier work is read as: the ids, tickets, commits, branches and words in it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from teams_app.engine.errors import InvalidInputError
from teams_app.engine.ids import Prefix, from_text
from teams_app.engine.normal_forms import normalised

MAX_TEXT_CHARACTERS = 1000
MAX_WORDS = 16
MAX_WORD_CHARACTERS = 64
SHORTEST_STEM = 4
_SHORTEST_PART = 3
# Scripts whose words are of two signs as a rule, and stand beside each other without blanks: kana, Han, Hangul.
_DENSE = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]")
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
_BEFORE_A_BRANCH = re.compile(r"refs/heads/|(?:refs/remotes/)?origin/")
# A name of code, a file or a table: letters, with a sign between them that ends a word elsewhere.
_NAME_OF_CODE = re.compile(r"[./:@]\w")
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

    @property
    def asks_for_some(self) -> bool:
        """Whether anything in it names one piece of work rather than another."""
        named = (self.session_ids, self.run_ids, self.tickets, self.head_shas, self.branches, self.workflow_ids)
        return bool(self.words or any(named))


def normalise(text: str) -> str:
    return normalised("NFKC", text).lower()


def words_in(normal: str) -> list[str]:
    """Of a text in its normal form, as often as they stand in it."""
    return _WORD.findall(normal)


def stem(word: str) -> str:
    """Without the s of a plural: the one ending that is worth cutting without knowing the language."""
    return word[:-1] if len(word) > SHORTEST_STEM and word.endswith("s") and not word.endswith("ss") else word


def shortest_part(word: str) -> int:
    """Of so many letters it must be to be looked for within other words."""
    return _SHORTEST_PART - 1 if _DENSE.search(word) else _SHORTEST_PART


def spellings(word: str) -> tuple[str, ...]:
    """The word with the commonest endings, for an index of whole words."""
    if len(word) < SHORTEST_STEM or not word.isalnum():
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
    found = (word[:MAX_WORD_CHARACTERS] for word in words_in(_ID.sub(" ", normalise(text))))
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
        yield from filter(None, (ticket, ticket.upper(), ticket.lower(), ticket.removeprefix("#")))


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


def id_in(text: str) -> str:
    """The id that a query names among its words, or that is meant as one and is all of it."""
    found = _ID.search(text) or _LIKE_AN_ID.fullmatch(text.strip())
    return found.group() if found else ""
