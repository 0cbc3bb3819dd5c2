"""Texts that make a regular expression walk the same way again and again, found in the expression itself."""

from re import _parser as parser
from typing import NamedTuple

ANY = "a 1-_.\"\\{}[]()<>#:=/'\tZé@|,\n"
SPACE, WORD, DIGIT = " \n", "a_1", "1"
CLASSES = {
    "CATEGORY_SPACE": SPACE,
    "CATEGORY_WORD": WORD,
    "CATEGORY_DIGIT": DIGIT,
    "CATEGORY_NOT_SPACE": "a#",
    "CATEGORY_NOT_WORD": "- ",
    "CATEGORY_NOT_DIGIT": "a-",
}
REPEATS = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})
MANY = 1_000
# So many places of one repeated part are looked at.
ALIKE = 4
SPOILS = ("\x01", "!x\n", "x\n")


class Pumped(NamedTuple):
    """A text that is as long as one wants it to be."""

    first: str
    repeated: str
    spoil: str
    is_bytes: bool

    def of_size(self, size):
        text = self.first + self.repeated * (size // len(self.repeated)) + self.spoil
        return text.encode("utf-8") if self.is_bytes else text


def pumped_texts(pattern, *, random, tries):
    """For each repetition without an end: what leads to it, again and again what it takes, and what it does not take. Each once."""
    tree = list(parser.parse(pattern.pattern, pattern.flags))
    pieces = _some_of_each(_sites(tree)) or [([], [], [])]
    return dict.fromkeys(_pumped(pieces, isinstance(pattern.pattern, bytes), random, tries))


def _pumped(pieces, is_bytes, random, tries):
    for _ in range(tries):
        for before, repeated, after in pieces:
            lead, pump = _sample(before, random), _sample(repeated, random) or random.choice(ANY)
            next_one = _sample(after, random)[:1]
            for whole in (pump, lead + pump, lead + pump + next_one):
                for first in (lead, ""):
                    for spoil in SPOILS:
                        yield Pumped(first, whole, spoil, is_bytes)


def _some_of_each(sites):
    """A pattern that is made of one part again and again has it at hundreds of places: the first few tell what it does."""
    found = {}
    for site in sites:
        found.setdefault(repr(site[1]), []).append(site)
    return [
        site
        for alike in found.values()
        for site in (alike if len(alike) <= ALIKE else [*alike[: ALIKE - 1], alike[-1]])
    ]


def _sites(tree):
    for place, (kind, value) in enumerate(tree):
        before, after = tree[:place], tree[place + 1 :]
        for inner, is_repeated in _inside(str(kind), value):
            if is_repeated:
                yield before, inner, after
            for lead, repeated, rest in _sites(inner):
                yield before + lead, repeated, rest + after


def _inside(kind, value):
    if kind in REPEATS:
        yield list(value[2]), value[1] >= MANY
    elif kind == "SUBPATTERN":
        yield list(value[3]), False
    elif kind == "ATOMIC_GROUP":
        yield list(value), False
    elif kind in ("ASSERT", "ASSERT_NOT"):
        yield list(value[1]), False
    elif kind == "BRANCH":
        yield from ((list(branch), False) for branch in value[1])


def _sample(tree, random):
    return "".join(_sampled(str(kind), value, random) for kind, value in tree)


def _sampled(kind, value, random):
    if kind in REPEATS:
        least, most, inner = value
        return "".join(_sample(inner, random) for _ in range(random.randint(least, min(int(most), least + 3))))
    match kind:
        case "LITERAL":
            return chr(value)
        case "NOT_LITERAL":
            return random.choice(ANY.replace(chr(value), ""))
        case "ANY":
            return random.choice(ANY)
        case "IN":
            return _one_of(value, random)
        case "BRANCH":
            return _sample(random.choice(value[1]), random)
        case "SUBPATTERN":
            return _sample(value[3], random)
        case "ATOMIC_GROUP":
            return _sample(value, random)
        case _:
            return ""


def _one_of(items, random):
    if str(items[0][0]) != "NEGATE":
        kind, value = random.choice(items)
        return random.choice(_characters(str(kind), value, random))
    known = "".join(_characters(str(kind), value, random) for kind, value in items)
    return random.choice([character for character in ANY if character not in known] or ["a"])


def _characters(kind, value, random):
    match kind:
        case "LITERAL":
            return chr(value)
        case "RANGE":
            return chr(random.randint(value[0], min(value[1], value[0] + 30)))
        case "CATEGORY":
            return CLASSES[str(value)]
        case _:
            return ""
