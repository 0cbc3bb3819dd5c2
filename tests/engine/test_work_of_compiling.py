"""Whatever a workflow names, repeats or refers to, and whoever walks it in thought: the work and the program are in proportion."""

import json

import pytest

from tests import step_documents
from tests.activity_folders import activity, checkpoint, compiled, equals, folder, step, toon, workflow
from tests.flood_play import Work, allowed
from workflows_app.engine import reading
from workflows_app.engine.activities import documents
from workflows_app.engine.activities.findings import MAX_REPEATED_CHARS
from workflows_app.engine.compile import compile_source
from workflows_app.engine.lookup import find_next
from workflows_app.engine.problems import ProblemCode
from workflows_app.engine.program import program_bytes
from workflows_app.engine.reading import SharedReading
from workflows_app.engine.simulate import MOST_WRONG, SimulatedOutcome, simulate, wrong_answers
from workflows_app.engine.source import Library, Source, SourceFormat, StepsSchema, Strictness
from workflows_app.engine.walks import FailureKind

# What is slow is slow each time; what others do on a machine is not.
LOOKS = 3
TEXTS = ["A rule of some length. " * 40] * 40


def steps(count, **fields):
    return [step_documents.step(f"step-{number}", **fields) for number in range(count)]


def braces(count):
    return " ".join(f"{{{{some_name_{number}}}}}" for number in range(count))


DOCUMENTS = {
    "names in braces": [*steps(1, prompt=braces(400)), step_documents.step("more", prompt=braces(390))],
    "names in braces of many steps": [
        step_documents.step(f"step-{at}", prompt=f"{{{{name_{at}}}}} {braces(300)}") for at in range(150)
    ],
    "references": steps(40, functionReferences=[f"none_{number}()" for number in range(100)]),
    "assessments": steps(40, assessmentRefs=[f"none-{number}" for number in range(10)]),
    "patterns": steps(40, validationCriteria=[{"type": "regex", "pattern": r"[\w\W]{0,999}" * 40, "message": "No."}]),
    "passages": steps(20, promptBlocks={"constraints": [[{"kind": "ref", "refId": "wr.refs.memory_usage"}] * 50] * 10}),
}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_document_costs_in_proportion_to_its_length(document):
    data = json.dumps(step_documents.workflow(*DOCUMENTS[document])).encode()

    assert any(seconds_of_compiling(data) <= allowed(plain=0, size=len(data)) for _look in range(LOOKS))


def seconds_of_compiling(data):
    with Work() as work:
        step_documents.compiled(data)
    return work.seconds


# Of a document with one long name: what is said of it, in each place where something is wrong.
LONG_NAME = "k" * 300_000
NAMED = [{"name": LONG_NAME, "definition": "D", "parameters": [{"name": LONG_NAME, "type": "string"}]}]
OF_STEPS = {
    "known functions": {
        "functionDefinitions": NAMED,
        "steps": steps(20, functionReferences=[f"none_{number}()" for number in range(20)]),
    },
    "known arguments": {
        "functionDefinitions": [{**NAMED[0], "name": "short"}],
        "steps": steps(20, functionCalls=[{"name": "short", "args": {f"a{number}": 1 for number in range(20)}}]),
    },
    "operators": {"steps": steps(1, runCondition={"var": "x", LONG_NAME: 1})},
    "flags": {
        "steps": steps(1, validationCriteria=[{"type": "regex", "pattern": "x", "flags": LONG_NAME, "message": "M"}])
    },
    "doubled keys": f'{{"{LONG_NAME}": 1, "{LONG_NAME}": 2}}'.encode(),
}
OF_FOLDERS = {
    "folders that are known": {"workflow.yaml": json.dumps(workflow(activitiesDir=LONG_NAME)).encode()}
    | {f"activitie/{number:02}-a.yaml": b"id: a" for number in range(50)},
    "anchors": {"activities/02-b.yaml": f"&{LONG_NAME} id: b".encode()},
    "tags": {"activities/02-b.yaml": f"id: !{LONG_NAME} b".encode()},
    "doubled keys": {"activities/02-b.toon": f"{LONG_NAME}: 1\n{LONG_NAME}: 2\n".encode()},
    "front matter": {f"resources/{number:02}-a.md": f"---\n&{LONG_NAME} a: b\n---\n".encode() for number in range(5)},
}
QUOTING = {
    **{f"steps: {name}": each for name, each in OF_STEPS.items()},
    **{f"folder: {name}": folder() | each for name, each in OF_FOLDERS.items()},
}


@pytest.mark.parametrize("strictness", Strictness)
@pytest.mark.parametrize("quoted", QUOTING)
def test_problems_quote_so_much_of_a_document_and_no_more(quoted, strictness):
    source = QUOTING[quoted]
    if quoted.startswith("folder"):
        found = compiled(source, strictness=strictness).problems
    else:
        document = source if isinstance(source, bytes) else {**step_documents.workflow(), **source}
        found = step_documents.compiled(document, strictness=strictness).problems

    assert found
    assert max(len(json.dumps(problem.as_json())) for problem in found) <= 8_000
    assert sum(len(json.dumps(problem.as_json())) for problem in found) <= len(LONG_NAME)


HEAVY = "([ab]{0,30}a[ab]{0,30}){30}c"
PATTERNS = {
    "criteria": {"validationCriteria": [{"type": "regex", "pattern": HEAVY, "message": "No."}]},
    "conditions": {"runCondition": {"var": "text", "matches": HEAVY}},
    "schemas": {
        "validationCriteria": [{"type": "schema", "schema": {"items": {"pattern": "(?:a?){100}b"}}, "message": "No."}]
    },
}


@pytest.mark.parametrize("place", PATTERNS)
@pytest.mark.parametrize(("count", "is_built"), [(1, True), (6, False)])
def test_patterns_together_compile_to_so_much(place, count, is_built):
    compilation = step_documents.compiled(step_documents.workflow(*steps(count, **PATTERNS[place])))

    assert (compilation.program is not None) is is_built, compilation.errors
    assert ({problem.code for problem in compilation.errors} == {ProblemCode.TOO_LARGE}) is not is_built


def many(count, **fields):
    return [activity(f"part-{number}", steps=[step("do")], **fields) for number in range(count)]


def about(**fields):
    return workflow(initialActivity="part-0", **fields)


ASKED = checkpoint("asked", message="Shall we? " * 2_000)
REPEATING = {
    "a rule fragment that is referred to again": lambda: folder(
        *many(1), about=about(fragments={"rules": {"long": TEXTS}}, rules={"workflow": [{"ref": "long"}] * 4_000})
    ),
    "rules of all activities": lambda: folder(*many(300), about=about(rules={"activity": TEXTS})),
    "fragments in rules of all activities": lambda: folder(
        *many(300), about=about(fragments={"rules": {"long": TEXTS}}, rules={"activity": [{"ref": "long"}] * 20})
    ),
    "a checkpoint fragment that is referred to again": lambda: folder(
        activity("part-0", steps=[{"kind": "checkpoint", "id": f"ask-{at}", "ref": "asked"} for at in range(900)]),
        about=about(fragments={"checkpoints": {"asked": ASKED}}),
    ),
}


@pytest.mark.parametrize("repeated", REPEATING)
def test_a_folder_repeats_no_more_than_is_bounded(repeated):
    files = REPEATING[repeated]()
    size = sum(map(len, files.values()))

    with Work() as work:
        compilation = compiled(files)

    assert compilation.program is None
    assert ProblemCode.TOO_LARGE in {problem.code for problem in compilation.errors}
    assert work.seconds <= allowed(plain=0.05, size=size)


@pytest.mark.parametrize(("count", "is_built"), [(4, True), (6, False)])
def test_activities_are_borrowed_within_the_same_bound(count, is_built):
    lent = [activity(f"lent-{at}", description="d" * 1_800_000, steps=[step("do")]) for at in range(count)]
    held = {f"activities/patterns/{at:02}-lent-{at}.toon": toon(value) for at, value in enumerate(lent)}
    listed = [f"side/{path.removeprefix('activities/')}" for path in held]
    side = {"workflow.toon": toon(workflow(id="side")), **held}

    compilation = compiled(folder(*many(1), about=about(activities=listed)), library=Library(folders={"side": side}))

    assert (compilation.program is not None) is is_built, compilation.errors


def test_what_is_repeated_within_the_bound_is_in_the_program():
    files = folder(*many(20), about=about(fragments={"rules": {"long": TEXTS}}, rules={"activity": [{"ref": "long"}]}))

    compilation = compiled(files)

    assert compilation.errors == ()
    assert len(toon(TEXTS)) * 20 < len(program_bytes(compilation.program)) < MAX_REPEATED_CHARS


@pytest.fixture
def decoded(monkeypatch):
    """The lengths of what is decoded, within bounds that are reached soon."""
    lengths = []
    monkeypatch.setattr(reading, "MAX_READ_BYTES", 40_000)
    monkeypatch.setattr(documents, "MAX_DECODED_AGAIN_CHARS", 20_000)

    def counting(decode):
        return lambda text, **options: lengths.append(len(text)) or decode(text, **options)

    monkeypatch.setattr(documents, "loads_yaml", counting(documents.loads_yaml))
    monkeypatch.setattr(documents.toon_format, "loads", counting(documents.toon_format.loads))
    return lengths


LONG = {
    "toon": lambda at: f"id: r{at}\n" + "k: 1\n" * 500,
    "yaml": lambda at: f"a{at}: [" + "1," * 1_500 + "1]",
    "md": lambda at: f"---\na{at}: x\n" + "- b\n" * 700 + "---\n",
}


def dull(count, ending):
    """Many documents that are long and dull, as a small archive holds them."""
    return {f"resources/{at:02}-r{at}.{ending}": LONG[ending](at).encode() for at in range(count)}


@pytest.mark.parametrize("ending", LONG)
def test_documents_of_one_folder_are_read_up_to_a_bound(decoded, ending):
    files = {**folder(), **dull(60, ending)}

    compilation = compiled(files, strictness=Strictness.LEGACY)

    unread = [problem.file for problem in compilation.problems if problem.code is ProblemCode.TOO_LARGE]
    assert compilation.program is not None, compilation.errors
    assert unread == sorted(files)[-len(unread) - 1 : -1]
    assert 0 < len(unread) < 60
    # What older readers let pass is read twice, and a little again for each further place that is told.
    assert sum(decoded) <= 2 * reading.MAX_READ_BYTES + documents.MAX_DECODED_AGAIN_CHARS


def table(fields, rows, *, count=None, row="1"):
    return f"t[{count or rows}]{fields}:\n{f'  {row}{chr(10)}' * rows}".encode()


# Names that each row repeats, and where: in one file, in many small ones, in those that are decoded again to tell of more.
REPEATED = {
    "a long name": [table(f"{{{'k' * 4_000}}}", 2_000)],
    "names in names": [table("{a" * 60 + "}" * 60, 7_000)],
    "names of entries": [b"t[2000:]{" + b"k" * 4_000 + b"}:\n" + b"".join(b"  k%d: 1\n" % at for at in range(2_000))],
    "many files": [table(f"{{{'k' * 1_000}}}", 50, row=at) for at in range(100)],
    "files that are decoded again": [
        table(f"{{{'k' * 300}}}", 300, count=999) + f"a: {at}\n".encode() + b"a: 1\n" * 20 for at in range(20)
    ],
}


@pytest.mark.parametrize("repeated", REPEATED)
def test_what_tables_repeat_is_bounded_together(repeated, monkeypatch):
    counted = []
    chars_of_names = documents._chars_of_names
    monkeypatch.setattr(
        documents, "_chars_of_names", lambda value: counted.append(chars_of_names(value)) or counted[-1]
    )
    files = {f"resources/{at:02}-r{at}.toon": data for at, data in enumerate(REPEATED[repeated])}

    compilation = compiled(folder() | files, strictness=Strictness.LEGACY)

    assert ProblemCode.TOO_LARGE in {problem.code for problem in compilation.problems}
    assert sum(counted) <= documents.MAX_NAMES_CHARS + documents.MAX_DECODED_AGAIN_CHARS + 60 * 4_000


DENSE = {
    "toon": b"t[1000]:\n" + b"  -\n" * 1_000,
    "yaml": b"l: [" + b"1," * 1_000 + b"1]",
    "json": b'{"l": [' + b"[]," * 1_000 + b"[]]}",
    "md": b"---\nl: [" + b"a," * 1_000 + b"a]\n---\n",
}


@pytest.mark.parametrize("ending", DENSE)
def test_values_of_documents_are_bounded_together(ending, monkeypatch):
    monkeypatch.setattr(documents, "MAX_READ_VALUES", 3_000)
    files = {f"resources/{at:02}-r{at}.{ending}": DENSE[ending] + b"\n" * at for at in range(9)}

    compilation = compiled(folder() | files, strictness=Strictness.LEGACY)

    unread = [problem.file for problem in compilation.problems if "3,000 values" in problem.message]
    assert compilation.program is not None, compilation.errors
    assert unread == sorted(files)[2:]


def test_workflows_that_arrive_together_read_what_they_share_once(decoded):
    skills = {f"skills/{at:02}-s{at}.yaml": f"id: s{at}\nl: [{'1,' * 3_000}1]".encode() for at in range(3)}
    library = Library(folders={"meta": {"workflow.toon": toon(workflow(id="meta")), **skills}})
    source, together = Source(format=SourceFormat.ACTIVITY_FOLDER, files=folder()), SharedReading()

    for _ in range(5):
        compilation = compile_source(source=source, library=library, reading=together)

    assert [skill.owner for skill in compilation.program.skills] == ["meta"] * 3
    assert len(decoded) == len({*folder(), *skills, "meta/workflow.toon"})


@pytest.mark.parametrize(("count", "is_built"), [(15, True), (17, False)])
def test_the_folders_that_one_refers_to_are_bounded_together(count, is_built):
    page = b"x" * (4 * 1024 * 1024 - 4096)
    folders = {f"side-{at}": {"workflow.toon": toon(workflow(id=f"side-{at}")), "big.txt": page} for at in range(count)}
    named = [f"side-{at}/help" for at in range(count)]

    compilation = compiled(folder(activity(skills=named, steps=[step("do")])), library=Library(folders=folders))

    assert (compilation.program is not None) is is_built, compilation.errors


class Counted(dict):
    """How often something was looked up in it."""

    reads = 0

    def __getitem__(self, name):
        self.reads += 1
        return super().__getitem__(name)


def test_a_routine_that_is_called_again_is_read_once():
    routines = Counted(sample=step_documents.routine(step_documents.step("one")))
    calls = [step_documents.call(f"call-{number}") for number in range(50)]

    step_documents.program_of(step_documents.workflow(*calls), library=Library(routines=routines))

    assert routines.reads == 1


ROUNDS = {"type": "for", "count": 100, "maxIterations": 100}
NESTED = step_documents.loop("outer", [step_documents.loop("inn", [step_documents.step("do-it")], **ROUNDS)], **ROUNDS)
WIDE = {f"n{number}": number for number in range(25_000)}
DONE = [f"out@{one}/inn@{other}::do-it" for one in range(100) for other in range(100)]


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(lambda program: find_next(program=program, completed=DONE, context=WIDE), id="lookup"),
        pytest.param(lambda program: simulate(program=program, variables=WIDE, answers={}), id="simulate"),
        pytest.param(
            lambda program: wrong_answers(program=program, answers={f"du-{at}": {} for at in range(20_000)}),
            id="answers",
        ),
        pytest.param(
            lambda program: wrong_answers(program=program, answers={"/".join(f"in{at}@1" for at in range(20_000)): {}}),
            id="rounds of one answer",
        ),
    ],
)
def test_a_walk_in_thought_costs_in_proportion_to_what_is_told(ask):
    program = step_documents.program_of(step_documents.workflow(NESTED))
    size = len(json.dumps([WIDE, DONE]))

    with Work() as work:
        ask(program)

    assert work.seconds <= allowed(plain=0, size=size)


def test_of_many_wrong_answers_the_first_are_told():
    program = step_documents.program_of(step_documents.workflow(NESTED))

    assert len(wrong_answers(program=program, answers={f"du-{number}": {} for number in range(50)})) == MOST_WRONG


TEXT = "a" * 250_000
LEAVES = {
    "part of a text": ("contains", "a" * 20 + "b", TEXT),
    "part of a list": ("contains", "x", [""] * 60_000),
    "beginning": ("startsWith", "x", TEXT),
    "pattern": ("matches", "ab", TEXT),
    "number": ("equals", 7, "7" * 250_000),
    "truth": ("equals", True, " " * 250_000),
    "several": ("in", ["x", 1, True], TEXT),
}
MOST_OF = {"contains": 1_000, "matches": 1_500}


@pytest.mark.parametrize("schema", StepsSchema)
@pytest.mark.parametrize("leaf", LEAVES)
def test_conditions_on_a_long_value_cost_in_proportion_to_both(leaf, schema):
    operator, wanted, value = LEAVES[leaf]
    count = MOST_OF.get(operator, 10_000)
    parts = [{"var": "long", operator: wanted}] * min(count, 500)
    hidden = [{**each, "runCondition": {"or": parts[1:]}} for each in steps(count // len(parts))]
    document = json.dumps(step_documents.workflow(step_documents.step("first"), *hidden)).encode()
    program = step_documents.program_of(document, schema=schema)

    with Work() as work:
        done = simulate(program=program, variables={"long": value}, answers={})

    assert (done.outcome, len(done.path)) == (SimulatedOutcome.COMPLETE, 1)
    assert work.seconds <= allowed(plain=0, size=len(document) + len(value)) / 10


@pytest.mark.parametrize("operator", ["contains", "equals", "startsWith"])
def test_rounds_in_which_nothing_is_to_be_done_ask_so_many_parts_of_conditions(operator):
    parts = [{"var": "long", operator: f"x{number}"} for number in range(450)]
    body = [step_documents.step(f"step-{number}", runCondition={"or": parts}) for number in range(2)]
    rounds = {"type": "for", "count": 1_000, "maxIterations": 1_000}
    program = step_documents.program_of(step_documents.workflow(step_documents.loop("again", body, **rounds)))

    with Work() as work:
        done = simulate(program=program, variables={"long": TEXT}, answers={})

    assert (done.outcome, done.failure.kind) == (SimulatedOutcome.BLOCKED, FailureKind.BUDGET)
    assert work.seconds <= allowed(plain=0, size=len(TEXT))


@pytest.mark.parametrize(("count", "is_built"), [(1_000, True), (1_001, False)])
@pytest.mark.parametrize("place", ["conditions", "criteria"])
def test_so_many_texts_are_looked_for(place, count, is_built):
    made = []
    for at in range(0, count, 100):
        part = min(100, count - at)
        if place == "conditions":
            fields = {"runCondition": {"or": [{"var": "a", "contains": f"x{number}"} for number in range(part)]}}
        else:
            criteria = [
                {"type": "contains", "value": f"part {number} of it", "message": "No."} for number in range(part)
            ]
            fields = {"validationCriteria": criteria}
        made.append(step_documents.step(f"step-{at}", **fields))

    compilation = step_documents.compiled(step_documents.workflow(*made))

    assert (compilation.program is not None) is is_built, compilation.errors
    assert ({problem.code for problem in compilation.errors} == {ProblemCode.TOO_LARGE}) is not is_built


def dull_steps(count):
    return [step(f"step-{number}") for number in range(count)]


def ways(count):
    return [{"to": "part-0", "condition": equals("go", f"way {number}")} for number in range(count)]


SIZES = {
    "steps": lambda extra: [activity("part-0", steps=dull_steps(1_999 + extra))],
    "steps of loops": lambda extra: [
        activity(
            "part-0",
            loops=[
                {"id": "again", "name": "Again", "type": "forEach", "over": "all", "steps": dull_steps(1_998 + extra)}
            ],
        )
    ],
    "activities": lambda extra: many(1_000 + extra),
    "transitions": lambda extra: [activity("part-0", steps=dull_steps(1), transitions=ways(4_000 + extra))],
}


@pytest.mark.parametrize("kind", SIZES)
@pytest.mark.parametrize("extra", [0, 1])
def test_an_activity_workflow_has_so_many_parts(kind, extra):
    compilation = compiled(folder(*SIZES[kind](extra), about=about()))

    assert (compilation.program is None) == bool(extra), compilation.errors
    assert {problem.code for problem in compilation.errors} == ({ProblemCode.TOO_LARGE} if extra else set())
