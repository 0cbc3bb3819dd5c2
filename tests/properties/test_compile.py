"""What holds for every step workflow: the same program from the same meaning, and a list of problems for everything else."""

import copy
import json
import random
from pathlib import Path

import pytest

from tests.step_documents import EVERYTHING, EVERYTHING_LIBRARY, ROUTINE, compiled, workflow
from workflows_app.engine.problems import ProblemCode
from workflows_app.engine.program import program_bytes, program_from_bytes, workflow_hash
from workflows_app.engine.source import Library, Origin, StepsSchema, Strictness

CHECKOUT = Path(__file__).resolve().parents[2]
BUNDLED = {path.stem: path.read_bytes() for path in sorted(CHECKOUT.glob("workflows_app/bundled/steps/*.json"))}
BUNDLED_ROUTINES = {
    path.stem: json.loads(path.read_bytes()) for path in sorted(CHECKOUT.glob("workflows_app/bundled/routines/*.json"))
}
DOCUMENTS = {"everything": EVERYTHING, **{name: json.loads(data) for name, data in BUNDLED.items()}}


def library_of(name):
    return EVERYTHING_LIBRARY if name == "everything" else Library(routines=BUNDLED_ROUTINES)


def compile_named(name, document):
    return compiled(document, library=library_of(name), origin=Origin.BUNDLED)


def shuffled(value, dice):
    """The same JSON with the keys of every object in another order."""
    if isinstance(value, dict):
        keys = list(value)
        dice.shuffle(keys)
        return {key: shuffled(value[key], dice) for key in keys}
    return [shuffled(item, dice) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_order_of_keys_and_the_layout_of_the_file_change_nothing(name):
    dice = random.Random(name)
    first = compile_named(name, DOCUMENTS[name])
    for indent in (None, 1, 4):
        again = compile_named(name, json.dumps(shuffled(DOCUMENTS[name], dice), indent=indent).encode())
        assert program_bytes(again.program) == program_bytes(first.program)
        assert again.problems == first.problems


@pytest.mark.parametrize("name", DOCUMENTS)
def test_problems_stand_in_the_same_order_whatever_the_order_of_keys(name):
    dice = random.Random(name)
    for _ in range(20):
        broken = mutated(DOCUMENTS[name], dice, steps=8)
        first = compile_named(name, broken)
        assert compile_named(name, shuffled(broken, dice)).problems == first.problems


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_program_comes_back_from_its_bytes_as_it_was(name):
    program = compile_named(name, DOCUMENTS[name]).program
    assert program_from_bytes(program_bytes(program)) == program


# A change of meaning is a change of name

# They say what the document is or repeat what its place says; an agent and a run never see them.
MEANINGLESS = {"$schema", "validatedAgainstSpecVersion", "hasValidation", "scope", "acceptedKinds"}


def leaves(value, path=()):
    if isinstance(value, dict):
        for key, child in value.items():
            yield from leaves(child, (*path, key))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from leaves(child, (*path, index))
    else:
        yield path, value


def replaced(document, path, value):
    made = copy.deepcopy(document)
    place = made
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return made


def others(value):
    """Other values of the same type, of which one is hopefully allowed."""
    match value:
        case bool():
            return [not value]
        case int() | float():
            return [value + 1, value - 1]
        case str():
            closed = [
                "heavy",
                "lightweight",
                "guided",
                "full_auto_never_stop",
                "conservative",
                "aggressive",
                "required",
            ]
            closed += [
                "preferred",
                "wr.refs.memory_usage",
                "wr.features.subagent_guidance",
                "review",
                "workspace",
                "string",
            ]
            closed += ["wr.contracts.loop_control", "wr.contracts.gaps", "i", "while", "9.9.9", "none", "some"]
            return [f"{value}x", f"x{value}", *closed]
        case _:
            return []


def test_every_field_that_means_something_is_in_the_name_of_the_program():
    name = workflow_hash(compiled(EVERYTHING, library=EVERYTHING_LIBRARY).program)
    changed = 0
    for path, value in leaves(EVERYTHING):
        other_name = next((found for other in others(value) if (found := name_with(path, other, value))), None)
        if other_name is not None:
            changed += 1
            means_nothing = not MEANINGLESS.isdisjoint(path[-2:])
            assert (other_name == name) == means_nothing, (path, value)
    assert changed > 120


def name_with(path, other, value):
    """The name of the program with another value in this place; None when the value is the same or not allowed."""
    program = compiled(replaced(EVERYTHING, path, other), library=EVERYTHING_LIBRARY).program
    return None if program is None or other == value else workflow_hash(program)


def test_a_change_of_a_routine_is_a_change_of_those_who_call_it():
    whole = compiled(EVERYTHING, library=EVERYTHING_LIBRARY).program
    other = Library(routines={"sample": {**ROUTINE, "about": "Changed."}}, workflow_ids=EVERYTHING_LIBRARY.workflow_ids)
    assert workflow_hash(compiled(EVERYTHING, library=other).program) != workflow_hash(whole)


def test_the_same_program_has_the_same_name_in_a_world_with_more_in_it():
    whole = compiled(EVERYTHING, library=EVERYTHING_LIBRARY).program
    more = Library(
        routines={"sample": ROUTINE, "other": {}}, bindings={"elsewhere": "x"}, workflow_ids=frozenset({"team.more"})
    )
    assert workflow_hash(compiled(EVERYTHING, library=more).program) == workflow_hash(whole)


# Whatever the document is

WORDS = (
    "",
    " ",
    "x",
    "id",
    "steps",
    "type",
    "loop",
    "parallel",
    "wr.",
    "{{wr.bindings.review}}",
    "{{a b}}",
    "{{",
    "{what}",
)
STRANGE = ("\ud800", "\x00", "😀", "ä\u0301", "\u2028", "\u202e", "\ufeff", "١", "ﬁ", "\U0010ffff")
NUMBERS = (0, -1, 1, 2**31, 2**63, 2**64, 10**25, 10**308, 10**400, -0.0, 0.1, 1e308, float("nan"), float("inf"))
VALUES = (None, True, False, [], {}, [[]], [{}], {"": {}}, *WORDS, *STRANGE, *NUMBERS)


def any_value(dice):
    return copy.deepcopy(dice.choice(VALUES))


def mutated(document, dice, *, steps):
    made = copy.deepcopy(document)
    for _ in range(steps):
        made = changed_once(made, dice)
    return made


def changed_once(document, dice):
    """One mistake at a random place; a document in which nothing is left becomes something else."""
    containers = list(nodes(document))
    if not containers or not any(True for _ in leaves(document)):
        return any_value(dice)
    place, other = dice.choice(containers), copy.deepcopy(dice.choice(containers))
    key = dice.choice(list(place) if isinstance(place, dict) else range(len(place)))
    changes = (
        lambda: place.pop(key),
        lambda: place.__setitem__(key, any_value(dice)),
        lambda: place.__setitem__(key, other),
        lambda: place.__setitem__(key, twisted(place[key], dice)),
        lambda: place.__setitem__(key, nested(place[key], dice.choice((2, 5, 30)), dice)),
        lambda: place.__setitem__(key, [copy.deepcopy(place[key]) for _ in range(dice.choice((2, 3, 20)))]),
        lambda: renamed(place, key, dice),
        lambda: added(place, dice.choice((any_value(dice), other)), dice),
        *3 * (lambda: alike(document, dice),),
    )
    dice.choice(changes)()
    return document


def alike(document, dice):
    """A value in the place of another of the same type, so that shapes stay right and meanings do not."""
    found = list(leaves(document))
    path, value = dice.choice(found)
    same = [other for _, other in found if type(other) is type(value)]
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = dice.choice(same)


def renamed(place, key, dice):
    if isinstance(place, dict):
        place[dice.choice((*WORDS, *STRANGE, f"{key}s", str(key)[:-1]))] = place.pop(key)
    else:
        place.insert(key, copy.deepcopy(dice.choice(place)))


def added(place, value, dice):
    if isinstance(place, dict):
        place[dice.choice(KEYS)] = copy.deepcopy(value)
    else:
        place.append(copy.deepcopy(value))


def nodes(value):
    """Every object and list that is not empty."""
    if isinstance(value, dict | list) and value:
        yield value
        for child in value.values() if isinstance(value, dict) else value:
            yield from nodes(child)


def twisted(value, dice):
    match value:
        case str():
            word = dice.choice((*WORDS, *STRANGE))
            return dice.choice(
                (f"{value}{word}", f"{word}{value}", value * dice.choice((2, 50)), value[: len(value) // 2])
            )
        case bool():
            return not value
        case int() | float():
            return value * dice.choice((-1, 2, 10**6))
        case list():
            return value[::-1] + value
        case dict():
            return list(value.items())
        case _:
            return any_value(dice)


def nested(value, depth, dice):
    """The same value at the bottom of a well."""
    key = dice.choice(("not", "and", "body", "x", None))
    for _ in range(depth):
        value = [value] if key is None else {key: [value] if key == "and" else value}
    return value


def keys_of(value):
    for node in nodes(value):
        if isinstance(node, dict):
            yield from node


KEYS = sorted({*keys_of(EVERYTHING), "startsWith", "or", "notExists", "$schema", "__proto__", "when"})


def written(document, dice):
    """The document as bytes: JSON as a lenient writer would write it, at times with a few bytes turned over or a key twice."""
    try:
        text = json.dumps(document, ensure_ascii=dice.random() < 0.5)
    except (ValueError, RecursionError):
        return b"{}"
    data = bytearray(text.encode("utf-8", "surrogatepass"))
    if dice.random() < 0.1:
        for _ in range(dice.randrange(1, 6)):
            data[dice.randrange(len(data))] = dice.randrange(256)
    if dice.random() < 0.03:
        data = data[: dice.randrange(len(data))]
    if dice.random() < 0.03:
        data = data.replace(b'"id":', b'"id": "twice", "id":', 1)
    if dice.random() < 0.03:
        well = dice.choice((70, 5000))
        data = data.replace(b'"title":', b'"deep": ' + b"[" * well + b"]" * well + b', "title":', 1)
    return bytes(data)


def check_one(seed):
    dice = random.Random(seed)
    name = dice.choice(("everything", "everything", "small", dice.choice(list(DOCUMENTS))))
    base = workflow() if name == "small" else DOCUMENTS[name]
    document = mutated(base, dice, steps=dice.choice((0, 1, 1, 1, 2, 3, 6)))
    library = library_of(name)
    if dice.random() < 0.2:
        routines = {key: mutated(value, dice, steps=2) for key, value in library.routines.items()}
        library = Library(routines=routines, bindings={"review": dice.choice(WORDS)})
    compilation = compiled(
        written(document, dice),
        library=library,
        origin=dice.choice((Origin.BUNDLED, Origin.BUNDLED, *Origin)),
        strictness=dice.choice(list(Strictness)),
        schema=dice.choice((None, None, None, *StepsSchema)),
    )
    assert (compilation.program is None) == bool(compilation.errors), seed
    for problem in compilation.problems:
        assert isinstance(problem.code, ProblemCode), seed
        assert problem.message, seed
        assert len(json.dumps(problem.as_json())) < 6000, (seed, problem)
    if compilation.program is not None:
        assert program_from_bytes(program_bytes(compilation.program)) == compilation.program, seed
    return compilation


def test_two_thousand_mutated_documents_give_a_program_or_a_list_of_problems():
    found = [check_one(seed) for seed in range(2000)]
    whole = sum(compilation.program is not None for compilation in found)
    codes = {problem.code for compilation in found for problem in compilation.problems}
    assert 250 < whole < 1800
    assert len(codes) > 30


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_a_hundred_thousand_mutated_documents_give_a_program_or_a_list_of_problems(part):
    for seed in range(5000 * part, 5000 * (part + 1)):
        check_one(f"long {seed}")


@pytest.mark.parametrize("data", [bytes([value]) * 40 for value in range(0, 256, 17)])
def test_bytes_that_are_no_json_give_a_problem(data):
    assert compiled(data).errors
