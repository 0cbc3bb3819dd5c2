"""What changed between two revisions: of the source, line by line; of the program, by place in the tree."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, TypeGuard

import msgspec

from workflows_app.engine import conditions
from workflows_app.engine.matching import BoundedMatcher, Effort
from workflows_app.engine.program import Program
from workflows_app.engine.values import Change, FileDiff, ProgramDiff

MAX_CHANGES = 500
MAX_VALUE_CHARS = 400
MAX_PATH_CHARS = 1_000
MAX_FILE_DIFF_CHARS = 65_536
# Of all files of a difference; those behind are told without a text.
MAX_DIFF_CHARS = 1024 * 1024
MAX_DIFFED_LINES = 5_000
# Lines around a change, and what is shown of a text before it.
_AROUND = 3
_BEFORE_DIFFERENCE = 60

# A list is compared by these names of its items, where every item has one and no two share it.
_NAMES = (("id",), ("owner", "id"), ("name",), ("slot",), ("contract",), ("to",))


def diff_files(*, before: Mapping[str, bytes], after: Mapping[str, bytes]) -> tuple[FileDiff, ...]:
    """By path; the one file of a document is the same file under whatever name it came."""
    if len(before) == len(after) == 1:
        before = dict(zip(after, before.values(), strict=True))
    effort, room = Effort(), MAX_DIFF_CHARS
    found: list[FileDiff] = []
    for path in sorted({*before, *after}):
        if before.get(path) != after.get(path):
            text = _text_diff(path, before, after, effort) if room > 0 else ""
            room -= len(text)
            found.append(FileDiff(path=path, change=_change_of(before.get(path), after.get(path)), text=text))
    return tuple(found)


def diff_programs(*, before: Program | None, after: Program | None) -> tuple[ProgramDiff, ...]:
    """Places in the order of the tree. A subtree that is new or gone is one entry, shown by its title."""
    return tuple(_changes("", _built(before), _built(after)))


def titles_of(*, before: Program | None, after: Program | None) -> dict[str, str]:
    """By id what has a title, as it is called after the change; no id that two things have under different titles."""
    found: dict[str, str] = {}
    for program in (before, after):
        titles: dict[str, set[str]] = {}
        for item, title in _titled(_built(program)):
            titles.setdefault(item, set()).add(title)
        found.update({item: said.pop() if len(said) == 1 else item for item, said in titles.items()})
    return {item: title for item, title in found.items() if title and title != item}


def _titled(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        title = value.get("title") or value.get("name")
        if isinstance(value.get("id"), str) and isinstance(title, str):
            yield value["id"], _cut(title, MAX_VALUE_CHARS)
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _titled(each)


def _built(program: Program | None) -> Any:
    return {} if program is None else msgspec.json.decode(msgspec.json.encode(program))


def _change_of(before: bytes | None, after: bytes | None) -> Change:
    if before is None:
        return Change.ADDED
    return Change.REMOVED if after is None else Change.CHANGED


def _text_diff(path: str, before: Mapping[str, bytes], after: Mapping[str, bytes], effort: Effort) -> str:
    old, new = _lines(before.get(path, b"")), _lines(after.get(path, b""))
    if old is None or new is None:
        return ""
    said = [
        f"--- a/{path}" if path in before else "--- /dev/null",
        f"+++ b/{path}" if path in after else "+++ /dev/null",
    ]
    matcher = BoundedMatcher(old, new, effort=effort, passes_by_frequent=True)
    for group in matcher.get_grouped_opcodes(_AROUND):
        (_, first, _, first_new, _), (_, _, end, _, end_new) = group[0], group[-1]
        said.append(f"@@ -{_reach(first, end)} +{_reach(first_new, end_new)} @@")
        for kind, a, a_end, b, b_end in group:
            if kind == "equal":
                said += [f" {line}" for line in old[a:a_end]]
            else:
                said += [f"-{line}" for line in old[a:a_end]]
                said += [f"+{line}" for line in new[b:b_end]]
    return _cut("".join(line if line.endswith("\n") else f"{line}\n" for line in said), MAX_FILE_DIFF_CHARS)


def _reach(start: int, end: int) -> str:
    """Where lines stand, counted from 1; none stand after the line before them."""
    count = end - start
    return f"{start + 1}" if count == 1 else f"{start + (count > 0)},{count}"


def _lines(data: bytes) -> list[str] | None:
    """None for what cannot be shown as lines."""
    try:
        lines = data.decode("utf-8").splitlines(keepends=True)
    except UnicodeDecodeError:
        return None
    return lines if len(lines) <= MAX_DIFFED_LINES else None


def _changes(path: str, before: Any, after: Any) -> Iterator[ProgramDiff]:
    """Only single values are compared: of an object Python does not see that `true` was 1."""
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _members(path, before, after, prefix=".")
    elif isinstance(before, list) and isinstance(after, list):
        yield from _items(path, before, after)
    elif not conditions.is_same_value(before, after):
        yield _changed(path, before, after)


def _changed(path: str, before: Any, after: Any) -> ProgramDiff:
    """What is cut is cut around the first difference where its beginning is the same."""
    old, new = _shown(before), _shown(after)
    if isinstance(old, str) and old == new:
        old, new = _around_difference(*(each if isinstance(each, str) else _json(each) for each in (before, after)))
    return ProgramDiff(path=path, change=Change.CHANGED, before=old, after=new)


def _around_difference(before: str, after: str) -> tuple[str, str]:
    same = next((place for place, (one, other) in enumerate(zip(before, after, strict=False)) if one != other), None)
    begin = max(0, (min(len(before), len(after)) if same is None else same) - _BEFORE_DIFFERENCE)
    old, new = (f"…{_cut(each[begin:], MAX_VALUE_CHARS - 1)}" for each in (before, after))
    return old, new


def _members(path: str, before: Mapping[str, Any], after: Mapping[str, Any], *, prefix: str) -> Iterator[ProgramDiff]:
    for key in [*before, *(key for key in after if key not in before)]:
        place = _place(path, key, prefix)
        if key not in after:
            yield ProgramDiff(path=place, change=Change.REMOVED, before=_shown(before[key]))
        elif key not in before:
            yield ProgramDiff(path=place, change=Change.ADDED, after=_shown(after[key]))
        else:
            yield from _changes(place, before[key], after[key])


def _items(path: str, before: list[Any], after: list[Any]) -> Iterator[ProgramDiff]:
    name = _shared_name([*before, *after], (before, after))
    if name is None:
        yield from _members(path, *_by_index(before, after), prefix="[")
        return
    old, new = ({_named(item, name): item for item in items} for items in (before, after))
    yield from _members(path, old, new, prefix="[")
    kept_before, kept_after = [key for key in old if key in new], [key for key in new if key in old]
    if kept_before != kept_after:
        yield _changed(f"{path} (order)", kept_before, kept_after)


def _shared_name(items: Sequence[Any], sides: tuple[list[Any], list[Any]]) -> tuple[str, ...] | None:
    for name in _NAMES:
        if all(_has_name(item, name) for item in items) and all(_distinct(side, name) for side in sides):
            return name
    return None


def _has_name(item: Any, name: tuple[str, ...]) -> TypeGuard[dict[str, Any]]:
    return isinstance(item, dict) and all(isinstance(item.get(key), str) for key in name)


def _named(item: Mapping[str, Any], name: tuple[str, ...]) -> str:
    return "/".join(item[key] for key in name)


def _distinct(items: list[Any], name: tuple[str, ...]) -> bool:
    return len({_named(item, name) for item in items}) == len(items)


def _by_index(before: list[Any], after: list[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Without what stands before and behind all changes: an item more at the top has not changed those below it."""
    old, new = ([msgspec.json.encode(item) for item in items] for items in (before, after))
    above = _alike(zip(old, new, strict=False))
    below = _alike(zip(reversed(old[above:]), reversed(new[above:]), strict=False))
    kept, come = ({str(at): items[at] for at in range(above, len(items) - below)} for items in (before, after))
    return kept, come


def _alike(pairs: Iterable[tuple[bytes, bytes]]) -> int:
    """How many pairs there are before the first that differ."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _place(path: str, key: str, prefix: str) -> str:
    """The nearest place around it that is told: beyond that each of many would be written with long names before it."""
    if len(path) + len(key) > MAX_PATH_CHARS:
        return path or _cut(key, MAX_PATH_CHARS)
    if prefix == "[":
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else key


def _shown(value: Any) -> Any:
    """Short values as they are; a text is cut, a subtree is named where it has a name."""
    if isinstance(value, str):
        return _cut(value, MAX_VALUE_CHARS)
    if isinstance(value, dict):
        named = {key: _shown(value[key]) for key in ("kind", "id", "title", "name") if isinstance(value.get(key), str)}
        return named if named.keys() - {"kind"} else _cut(_json(value), MAX_VALUE_CHARS)
    if isinstance(value, list):
        return _cut(_json([_shown(item) for item in value]), MAX_VALUE_CHARS)
    return value


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode("utf-8", "replace")


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"
