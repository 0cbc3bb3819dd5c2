"""What is a secret, by the name of its field and by its look. Logs and traces ask here, so that neither tells what the other hides.

Agents and libraries put secrets where they do not belong, so no text is trusted to hold none.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import orjson
import re2

from teams_app.engine.errors import InvalidInputError
from teams_app.engine.looks import KEYS, MADE_VALUE, OWN, OWN_ENCODED, WORDS, Look
from teams_app.engine.own_keys import FIRST_OF_MARKS, HIDDEN, own_keys
from teams_app.engine.plain_reading import OTHERWISE, EditedText, Plain, read_plainly

_LONG_CHARACTERS = 256
# With a plus: paths and names have none.
_LONG_BASE64 = re.compile(
    rf"(?=[^+]*\+)(?=[^0-9]*[0-9])(?=[^A-Z]*[A-Z])(?=[^a-z]*[a-z])[A-Za-z0-9+/]{{{_LONG_CHARACTERS}}}"
)
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]")
_ENDINGS = (
    "password",
    "passwd",
    "passphrase",
    "secret",
    "secretkey",
    "token",
    "tokens",
    "tokenkey",
    "apikey",
    "apikeys",
    "accesskey",
    "privatekey",
    "signingkey",
    "sshkey",
    "authorization",
    "cookie",
    "cookies",
    "credential",
    "credentials",
    "sessionindex",
    "checkpointhandle",
)
_WHOLE_NAMES = frozenset({"pwd", "pin", "auth", "bearer", "jwt"})


_OPTIONS = re2.Options()
_OPTIONS.case_sensitive = False
_OPTIONS.never_capture = True
# Of bytes without order it would write that it needs more room into our log, past its form.
_OPTIONS.log_errors = False


@cache
def _quick(pattern: str) -> Any:
    """Of a pattern that finds in one pass, whatever the text holds."""
    return re2.compile(pattern, _OPTIONS)


class _Looks:
    """`is_worth_reading` and `is_worth_trying` are told by one pass each: most texts hold nothing."""

    def __init__(self, looks: tuple[Look, ...], *, first_of_others: str = "") -> None:
        self._begins = [(begin, place) for place, look in enumerate(looks) for begin in look.begins]
        self._firsts = [(look.first, place) for place, look in enumerate(looks) if look.first]
        self._any_first = "|".join(first for first, _place in self._firsts)
        begins = dict.fromkeys(begin for begin, _place in self._begins)
        self._any = "|".join(filter(None, [*map(re2.escape, begins), self._any_first, first_of_others]))
        self._looks, self._otherwise = looks, f"{self._any}|{OTHERWISE}"

    def is_worth_reading(self, text: str) -> bool:
        return _is_found(self._otherwise, text)

    def is_worth_trying(self, plain: str) -> bool:
        return _is_found(self._any, plain)

    def that_may_find(self, plain: str) -> list[Look]:
        """In their order."""
        folded = plain.casefold()
        places = {place for begin, place in self._begins if begin in folded}
        if self._any_first and _is_found(self._any_first, plain):
            places |= {place for first, place in self._firsts if _is_found(first, plain)}
        return [self._looks[place] for place in sorted(places)]


# No key that may stand anywhere is longer but for its end, and no look sees farther.
_NEAR_CHARACTERS = 512
_KEYS, _WORDS = _Looks(KEYS, first_of_others=FIRST_OF_MARKS), _Looks(WORDS)
_OWN_KEYS = _Looks(OWN, first_of_others=FIRST_OF_MARKS)


def hide_secrets(text: str) -> str:
    """The text without what looks like a secret."""
    return _hidden(_hidden(text, _KEYS), _WORDS)


def hide_keys(text: str) -> str:
    """The text without what cannot be anything but a secret."""
    return _hidden(text, _KEYS)


def hide_own_keys(text: str) -> str:
    """As `hide_keys`, of those of this product alone."""
    return _hidden(text, _OWN_KEYS)


def shown_without_keys(text: str, *, most: int) -> str:
    """The beginning of what somebody sent, to be told again. No more is looked at than may be shown: they may have sent a lot."""
    return hide_keys(text[:_LOOKED_AT_CHARACTERS])[:most]


def told_without_keys(value: Any) -> Any:
    """What is told to whoever sent something: its texts without keys, whatever they are texts of."""
    match value:
        case str():
            return hide_keys(value)
        case Mapping():
            return {hide_keys(str(name)): told_without_keys(inner) for name, inner in value.items()}
        case list() | tuple():
            return [told_without_keys(inner) for inner in value]
        case _:
            return value


def may_hold_keys(text: str) -> bool:
    """Whether a closer look is worth it; of much text at once."""
    return _KEYS.is_worth_reading(text)


def holds_own_key(text: str) -> bool:
    """Whether a whole key of this product is in it, however it is written; one that was hidden before is none."""
    return may_hold_keys(text) and _is_own_key_in(text, read_plainly(text))


def _is_own_key_in(text: str, plain: Plain) -> bool:
    return any(_is_found(OWN_ENCODED, each) or next(_own_in(each), None) is not None for each in {text, plain.text})


def _own_in(text: str) -> Iterator[tuple[int, int, str]]:
    return own_keys(text) if _is_found(FIRST_OF_MARKS, text) else iter(())


def _is_found(pattern: str, text: str) -> bool:
    try:
        return _quick(pattern).search(text) is not None
    except UnicodeEncodeError:
        return _quick(pattern).search(_of_whole_characters(text)) is not None


def _of_whole_characters(text: str) -> str:
    """Half a character is none of a beginning, and no UTF-8, which quick patterns read."""
    return text.encode("utf-8", "replace").decode()


def _hidden(text: str, table: _Looks) -> str:
    if not table.is_worth_reading(text):
        return text
    hidden = _hidden_in(text, read_plainly(text), table)
    # What is a key of ours as it stands, and reads as something else: where it ends nobody knows.
    is_left = table is not _WORDS and _is_found(FIRST_OF_MARKS, hidden) and holds_own_key(hidden)
    return HIDDEN if is_left else hidden


def _hidden_in(text: str, plain: Plain, table: _Looks) -> str:
    if not table.is_worth_trying(plain.text):
        return text
    read = EditedText(plain.text)
    if table is not _WORDS:
        # Before the looks, which would take the first piece of each and leave the others.
        read.edit([(begin, end, f"{shown}{HIDDEN}") for begin, end, shown in _own_in(plain.text)])
    for look in table.that_may_find(plain.text):
        found = [(at.start(), at.end(), look.put_for(at)) for at in _found(look, read.text)]
        if found:
            read.edit(found)
    return _with_parts(text, plain, read.parts)


def _found(look: Look, text: str) -> Iterator[re.Match[str]]:
    """As `finditer` of the pattern, which tries each of a hundred beginnings at each letter. Of a long run of base64, as of a
    picture, no part is a key, whatever it looks like: of each megabyte one does.
    """
    if look.first and not look.begins:
        yield from _found_near(look, text)
        return
    if not look.is_begun:
        yield from look.pattern.finditer(text)
        return
    folded = text.casefold()
    if len(folded) != len(text):
        yield from (each for each in look.pattern.finditer(text) if not _is_amid_base64(text, each.start()))
        return
    end = 0
    for place in sorted({place for begin in look.begins for place in _places(begin, folded)}):
        found = look.pattern.match(text, place) if place >= end and not _is_amid_base64(text, place) else None
        if found is not None:
            end = found.end()
            yield found


def _is_amid_base64(text: str, place: int) -> bool:
    return _LONG_BASE64.fullmatch(text, max(0, place - _LONG_CHARACTERS), place) is not None


def _found_near(look: Look, text: str) -> Iterator[re.Match[str]]:
    """As `finditer` of the pattern, which goes past the rest of the text in no time: near what is found there may be one."""
    at = 0
    for begin, last in _stretches(look.first, text):
        at, until = max(begin - _NEAR_CHARACTERS, at), last + _NEAR_CHARACTERS
        while (found := look.pattern.search(text, at, until)) is not None:
            # Of one that ends there the rest was out of sight.
            is_cut = found.end() + _NEAR_CHARACTERS // 2 > until
            whole = look.pattern.match(text, found.start()) if is_cut else found
            if whole is not None:
                yield whole
            at = found.start() + 1 if whole is None else whole.end()


def _stretches(first: str, text: str) -> Iterator[tuple[int, int]]:
    """From where to where the pattern finds something; what is near to the one before belongs to it."""
    try:
        spans = [found.span() for found in _quick(first).finditer(text)]
    except UnicodeEncodeError:
        spans = [found.span() for found in _quick(first).finditer(_of_whole_characters(text))]
    begin, last = spans[0] if spans else (0, 0)
    for another, end in spans[1:]:
        if another > last + 2 * _NEAR_CHARACTERS:
            yield begin, last
            begin = another
        last = end
    if spans:
        yield begin, last


def _places(part: str, text: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def _with_parts(text: str, plain: Plain, parts: Iterable[tuple[int, int, str]]) -> str:
    """What was found in the text as it reads plainly is taken out of the text as it is."""
    kept, end = [], 0
    for was, was_end, words in parts:
        kept += [text[end : plain.begin_of(was)], words]
        end = plain.end_of(was_end)
    return "".join([*kept, text[end:]])


@lru_cache(maxsize=2048)
def is_secret_name(name: str) -> bool:
    """`Set-Cookie`, `apiToken`, `new_password` and the like."""
    bare = bare_name(name)
    return bare in _WHOLE_NAMES or bare.endswith(_ENDINGS)


def bare_name(name: str) -> str:
    """The name as all ways to write it have in common."""
    return _NOT_IN_NAMES.sub("", name.lower())


_SHOWN_CHARACTERS = 100
# What is told of a place is cut from so much of it; a key that this cuts in two is known by its beginning.
_LOOKED_AT_CHARACTERS = 1_000
_MOST_TOLD, _MOST_NOTED = 12, 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """`hidden` are the places where something was taken out."""

    value: Any
    hidden: tuple[str, ...] = ()


def read_kept(value: Any) -> Kept:
    """The value with keys of others hidden. Raises InvalidInputError for one of ours: it is to be revoked, not hidden;
    and for what nests deeper than it can be looked at.
    """
    if not _is_worth_a_look(value):
        return Kept(value=value)
    hidden: list[str] = []
    try:
        read = _read(value, "", hidden)
    except RecursionError:
        raise _too_deep() from None
    return Kept(value=read, hidden=tuple(dict.fromkeys(map(_shown, hidden[:_MOST_NOTED])))[:_MOST_TOLD])


def refuse_own_keys(value: Any) -> None:
    """Of what is kept nowhere, or as it is. Raises InvalidInputError for a key of ours."""
    read_kept(value)


def read_kept_text(text: str, *, field: str) -> str:
    """As `read_kept`, of one text that is kept from whichever door: the command line has none that looks."""
    return str(read_kept({field: text}).value[field])


def _is_worth_a_look(value: Any) -> bool:
    try:
        return may_hold_keys(orjson.dumps(value, default=str).decode())
    except TypeError:
        # A number beyond 64 bits, say: nothing may hide behind one.
        return True


def _read(value: Any, path: str, hidden: list[str]) -> Any:
    match value:
        case str():
            return _text(value, path, hidden)
        case Mapping():
            return {
                _text(str(key), path, hidden): _named(
                    str(key), inner, _within(path, f".{str(key)[:_LOOKED_AT_CHARACTERS]}"), hidden
                )
                for key, inner in value.items()
            }
        case list() | tuple():
            return [_read(inner, _within(path, f"[{place}]"), hidden) for place, inner in enumerate(value)]
        case _:
            return value


def _named(name: str, value: Any, path: str, hidden: list[str]) -> Any:
    """A field gives away what a word in a text does."""
    if isinstance(value, str) and is_secret_name(name) and MADE_VALUE.fullmatch(value) and not holds_own_key(value):
        hidden.append(path)
        return HIDDEN
    return _read(value, path, hidden)


def _within(path: str, part: str) -> str:
    """No place is longer than what is looked at: it would be written anew for each that lies in it."""
    return path if len(path) > _LOOKED_AT_CHARACTERS else f"{path}{part}"


def _text(text: str, path: str, hidden: list[str]) -> str:
    if not may_hold_keys(text):
        return text
    plain = read_plainly(text)
    if _is_own_key_in(text, plain):
        raise _own_key(_shown(path))
    said = _hidden_in(text, plain, _KEYS)
    if said != text:
        hidden.append(path)
    return said


def _shown(path: str) -> str:
    return shown_without_keys(path.removeprefix("."), most=_SHOWN_CHARACTERS)


def _too_deep() -> InvalidInputError:
    return InvalidInputError(
        "What was sent nests too deep to be read. Nothing was done.",
        suggestion="Send plain values with little nesting, and a file's path instead of its contents.",
        details={"reason": "too_deep"},
    )


def _own_key(path: str) -> InvalidInputError:
    return InvalidInputError(
        f"{path or 'The body'} holds a key of Workrail. Nothing was done.",
        suggestion="Leave the key out: it belongs in the Authorization header alone. An owner of the team should revoke it and "
        "issue another, because it has been written where it can be read.",
        details={"validationErrors": [{"path": path, "message": "It holds a key of Workrail."}]},
    )
