"""What the newest folders share: fragments, borrowed activities, techniques of a group, and files beside each other."""

import json

import pytest

from tests.activity_folders import activity, codes, compiled, folder, only, program_of, step, toon, workflow
from workflows_app.engine.activities.references import find_resource, find_skill
from workflows_app.engine.problems import ProblemCode
from workflows_app.engine.program import Step, walk_items
from workflows_app.engine.source import ContentKind, Library, Strictness

SURE = b"    sure: {message: Sure?, options: [{id: 'yes', label: 'Yes'}, {id: 'no', label: 'No'}]}\n"


def yaml_folder(*activities, about=b"", **files):
    made = {"workflow.yaml": b"id: team.own\nversion: 1.0.0\ntitle: Own\n" + about}
    for number, body in enumerate(activities, 1):
        head = f"id: a{number}\nversion: 1.0.0\nname: A{number}\n".encode()
        made[f"activities/{number:02}-a{number}.yaml"] = head + body
    return made | {path.replace("__", "/"): data for path, data in files.items()}


def of(**folders):
    return Library(folders={name.replace("_", "-"): files for name, files in folders.items()})


def steps_of(activity):
    return [item for item in walk_items(activity.body) if isinstance(item, Step)]


def rules_of(entry, *, own=b"", **folders):
    about = b"rules:\n  workflow:\n    - " + entry + b"\nfragments:\n  rules:\n    mine: Mine\n" + own
    return compiled(yaml_folder(b"", about=about), library=of(**folders))


META = {"workflow.yaml": b"id: meta\nfragments:\n  rules: {shared: [One, Two], mine: Theirs}\n"}
SIDE = {"workflow.yaml": b"id: side\nfragments:\n  rules: {single: Of the side}\n  checkpoints:\n" + SURE}


@pytest.mark.parametrize(
    ("entry", "texts"),
    [
        (b"{ref: mine}", ("Mine",)),
        (b"{ref: shared}", ("One", "Two")),
        (b"{ref: meta::mine}", ("Theirs",)),
        (b"{ref: side::single}", ("Of the side",)),
        (b"{ref: own::mine}", ("Mine",)),
        (b"{ref: team.own::mine}", ("Mine",)),
        (b"As written", ("As written",)),
    ],
)
def test_a_rule_may_be_a_fragment_of_this_workflow_of_meta_or_of_a_named_one(entry, texts):
    compilation = rules_of(entry, meta=META, side=SIDE)
    assert compilation.problems == ()
    assert compilation.program.rules == texts


@pytest.mark.parametrize(
    "entry", [b"{ref: nowhere}", b"{ref: side::shared}", b"{ref: own::shared}", b"{ref: 7}", b"[x]"]
)
def test_a_rule_that_should_be_here_and_is_not_is_an_error(entry):
    assert codes(rules_of(entry, meta=META, side=SIDE).errors) in (["unknown_ref"], ["wrong_type"])


def test_a_rule_of_a_workflow_that_is_not_here_is_left_out_and_told():
    compilation = rules_of(b"{ref: far::rule}", meta=META)
    problem = only(compilation.problems, ProblemCode.UNKNOWN_REF)
    assert (compilation.errors, compilation.program.rules, problem.path) == ((), (), "rules.workflow[0]")
    assert "'far'" in problem.suggestion


def test_a_fragment_of_another_form_is_an_error_where_it_stands():
    about = b"fragments:\n  rules: {odd: 7}\n  checkpoints: {flat: text}\n  other: {}\n"
    compilation = compiled(yaml_folder(b"", about=about))
    assert {(p.path, p.code.value) for p in compilation.problems} == {
        ("fragments.rules.odd", "wrong_type"),
        ("fragments.checkpoints.flat", "wrong_type"),
        ("fragments.other", "unknown_key"),
    }


@pytest.mark.parametrize("reference", ["sure", "side::sure"])
def test_a_borrowed_activity_finds_the_fragments_of_its_own_workflow(reference):
    lent = (
        f"id: lent\nversion: 1.0.0\nname: Lent\nsteps: [{{kind: checkpoint, id: ask, ref: '{reference}'}}]\n".encode()
    )
    side = {**SIDE, "activities/01-lent.yaml": lent}
    about = b"activities: [side/01-lent.yaml]\nfragments:\n  checkpoints:\n" + SURE.replace(b"Sure?", b"Mine?")
    compilation = compiled(yaml_folder(b"", about=about), library=of(side=side))
    assert compilation.errors == ()
    lent = compilation.program.activity("lent")
    assert (lent.checkpoints[0].message, lent.borrowed_from) == ("Sure?", "side")


def test_an_own_activity_may_ask_what_another_workflow_or_meta_keeps():
    body = b"steps:\n  - {kind: checkpoint, id: one, ref: 'side::sure'}\n  - {kind: checkpoint, id: two, ref: sure}\n"
    meta = {"workflow.yaml": b"id: meta\nfragments:\n  checkpoints:\n" + SURE.replace(b"Sure?", b"Meta?")}
    program = program_of(yaml_folder(body), library=of(side=SIDE, meta=meta))
    assert [checkpoint.message for checkpoint in program.activities[0].checkpoints] == ["Sure?", "Meta?"]


# Techniques


def technique(name):
    return f"## Capability\n\nDoes {name}.\n".encode()


def test_a_bare_technique_is_first_that_of_the_group_named_like_the_activity():
    steps = b"".join(b"  - {kind: technique, technique: %s}\n" % name for name in (b"a1", b"cut", b"paste", b"a1::cut"))
    files = {
        "techniques/a1/TECHNIQUE.md": technique("group"),
        "techniques/a1/a1.md": technique("a1 of a1"),
        "techniques/a1/cut.md": technique("cut of a1"),
        "techniques/cut.md": technique("cut alone"),
        "techniques/paste.md": technique("paste alone"),
    }
    body = b"techniques: [cut]\nsteps:\n" + steps
    compilation = compiled({**yaml_folder(body), **files})
    program, activity = compilation.program, compilation.program.activities[0]
    assert "unknown_skill" not in codes(compilation.problems)
    assert [step.skill for step in steps_of(activity)] == ["a1::a1", "a1::cut", "paste", "a1::cut"]
    assert activity.supporting_skills == ("a1::cut",)
    assert find_skill(program=program, reference="a1::a1").summary == "Does a1 of a1."


def test_the_group_of_a_borrowed_activity_is_where_it_came_from():
    side = {
        **SIDE,
        "activities/01-lent.yaml": b"id: lent\nversion: 1.0.0\nname: L\nsteps: [{kind: technique, technique: cut}]\n",
        "techniques/lent/cut.md": technique("the lender's"),
    }
    files = yaml_folder(b"", about=b"activities: [side/01-lent.yaml]\n", **{"techniques__cut.md": technique("my own")})
    program = program_of(files, library=of(side=side))
    (step,) = steps_of(program.activity("lent"))
    assert step.skill == "lent::cut"
    assert find_skill(program=program, reference=step.skill, home="side").summary == "Does the lender's."


def test_a_technique_may_be_asked_for_some_of_its_rules():
    conduct = b"## Capability\n\nConduct.\n\n## Rules\n\n### worker-one\n\nW1\n\n### leader-one\n\nL1\n\n### leader-two\n\nL2\n"
    about = b"techniques: {workflow: ['conduct::leader', 'conduct::worker-one', 'conduct::nobody']}\n"
    meta = {"workflow.yaml": b"id: meta\n", "techniques/conduct.md": conduct}
    compilation = compiled(yaml_folder(b"", about=about), library=of(meta=meta))
    assert "conduct::nobody" in only(compilation.problems, ProblemCode.UNKNOWN_SKILL).message
    texts = {c.document["id"]: c.text for c in compilation.contents if c.kind is ContentKind.SKILL}
    assert ("L1" in texts["conduct::leader"], "W1" in texts["conduct::leader"]) == (True, False)
    assert "W1" in texts["conduct::worker-one"]
    assert find_skill(program=compilation.program, reference="conduct::leader").owner == "meta"


def test_resources_that_techniques_link_to_come_along_from_wherever_they_are():
    files = {
        **yaml_folder(b""),
        "techniques/deep/op.md": b"[a](../../resources/mine.md#part) [b](../../../side/resources/theirs.md) [c](https://x.example/resources/no.md)",
        "techniques/flat.md": b"[gone](../resources/gone.md)",
        "resources/mine.md": b"# Mine",
    }
    side = {**SIDE, "resources/theirs.md": b"# Theirs", "resources/other.md": b"# Other"}
    compilation = compiled(files, library=of(side=side))
    assert {(one.owner, one.id) for one in compilation.program.resources} == {("team.own", "mine"), ("side", "theirs")}
    assert only(compilation.problems, ProblemCode.UNKNOWN_RESOURCE).file == "techniques/flat.md"


# Files


def test_activities_below_the_activities_are_lent_and_no_part_of_their_own_workflow():
    lent = b"id: lent\nversion: 1.0.0\nname: Lent\n"
    side = {**SIDE, "activities/patterns/01-lent.yaml": lent}
    for reference in (
        "side/patterns/01-lent.yaml",
        "side/activities/patterns/01-lent.yaml",
        "../side/patterns/01-lent",
    ):
        files = yaml_folder(b"", about=f"activities: [01-a1.yaml, {reference}]\n".encode())
        assert [one.id for one in program_of(files, library=of(side=side)).activities] == ["a1", "lent"]
    own = yaml_folder(b"", **{"activities__patterns__01-lent.yaml": lent})
    compilation = compiled(own)
    assert [one.id for one in compilation.program.activities] == ["a1"]
    assert "patterns/01-lent.yaml" in only(compilation.problems, ProblemCode.UNKNOWN_FILE).suggestion
    listed = yaml_folder(
        b"", about=b"activities: [patterns/01-lent.yaml]\n", **{"activities__patterns__01-lent.yaml": lent}
    )
    compilation = compiled(listed)
    assert (compilation.problems, [one.id for one in compilation.program.activities]) == ((), ["a1", "lent"])
    assert compilation.program.activity("lent").borrowed_from == ""


def test_a_lender_may_keep_its_activities_elsewhere():
    side = {
        "workflow.yaml": b"id: side\nactivitiesDir: phases\n",
        "phases/01-lent.yaml": b"id: lent\nversion: 1.0.0\nname: Lent\n",
    }
    files = yaml_folder(b"", about=b"activities: [side/01-lent.yaml]\n")
    assert program_of(files, library=of(side=side)).activity("lent") is not None


@pytest.mark.parametrize(
    "name", ["readme-seed", "readme.notes", "license-check", "changelog-format", "notice_board", "readme"]
)
def test_resources_whose_name_begins_like_documentation_are_resources(name):
    files = yaml_folder(b"", **{f"resources__{name}.md": b"# Text"})
    assert find_resource(program=program_of(files), reference=name) is not None


@pytest.mark.parametrize(
    "path", ["README.md", "resources/README.md", "techniques/README.md", "activities/readme.md", "LICENSE"]
)
def test_documentation_is_no_part_of_a_workflow(path):
    compilation = compiled({**yaml_folder(b""), path: b"# About"})
    assert (compilation.problems, compilation.program.resources, compilation.program.skills) == ((), (), ())


def test_files_whose_names_differ_in_case_are_two_and_told():
    files = yaml_folder(b"", **{"resources__README.md": b"# About", "resources__readme.md": b"# Pointer"})
    compilation = compiled(files)
    assert [one.id for one in compilation.program.resources] == ["readme"]
    assert only(compilation.problems, ProblemCode.DUPLICATE_PATH).file == "resources/readme.md"


@pytest.mark.parametrize("strictness", list(Strictness))
def test_keys_for_editors_and_for_other_servers_are_no_mistakes(strictness):
    body = b"$schema: ../../schemas/activity.schema.json\nbundleTechniques: {maxChars: 1200}\n"
    compilation = compiled(yaml_folder(body, about=b"$schema: x\n"), strictness=strictness)
    assert [p.code.value for p in compilation.problems] == ["ignored_field"]


@pytest.mark.parametrize(
    "reference", ["overview", "overview.md", "../resources/overview.md", "team.own/overview", "plan"]
)
@pytest.mark.parametrize("number", ["", "01-"])
def test_a_resource_answers_to_the_name_of_its_file_whatever_it_calls_itself(number, reference):
    files = yaml_folder(b"", **{f"resources__{number}overview.md": b"---\nid: plan\n---\n# Overview"})
    assert find_resource(program=program_of(files), reference=reference).title == "Overview"


def test_a_file_goes_before_what_another_one_calls_itself():
    named = {"resources__a.md": b"---\nid: guide\n---\n# Calls itself so", "resources__guide.md": b"# Is called so"}
    program = program_of(yaml_folder(b"", **named))
    assert find_resource(program=program, reference="guide").title == "Is called so"


@pytest.mark.parametrize("ending", ["md", "json", "yaml", "yml", "toon"])
def test_a_resource_may_be_named_with_its_ending(ending):
    text = b"# Data" if ending == "md" else b'{"title": "Data"}' if ending == "json" else b"title: Data"
    asking = f"---\nresources: [data.{ending}]\n---\n# Sort".encode()
    files = yaml_folder(b"", **{f"resources__data.{ending}": text, "techniques__sort.md": asking})

    compilation = compiled(files)

    assert compilation.problems == ()
    assert find_resource(program=compilation.program, reference=f"data.{ending}").title == "Data"


@pytest.mark.parametrize("link", ["my%20guide.md", "%C3%BCber.md", "100%25.md", "100%.md", "%6dine.md"])
def test_a_link_to_a_resource_may_be_written_with_percent_signs(link):
    names = ["my guide", "über", "100%", "mine"]
    asking = f"# Sort\n\nSee [the guide](../resources/{link}).\n".encode()
    files = {f"resources/{name}.md": b"# Guide" for name in names} | {"techniques/sort.md": asking}

    compilation = compiled({**yaml_folder(b""), **files})

    (skill,) = compilation.program.skills
    assert compilation.problems == ()
    assert find_resource(program=compilation.program, reference=skill.resources[0], home=skill.owner) is not None


@pytest.mark.parametrize("link", ["%00.md", "a%0ab.md", "..%2f..%2fx.md", "%ff.md"])
def test_a_link_that_says_nothing_printable_is_read_as_it_stands(link):
    asking = f"# Sort\n\nSee [the guide](../resources/{link}).\n".encode()
    compilation = compiled(yaml_folder(b"", **{"techniques__sort.md": asking}))
    assert compilation.program is not None
    assert all(each.isprintable() for skill in compilation.program.skills for each in skill.resources)


@pytest.mark.parametrize("folder", ["techniques", "techniques/of-group", "resources", "templates"])
@pytest.mark.parametrize("name", ["changelog", "notice", "license", "copying"])
def test_what_agents_ask_for_may_be_called_like_documentation_in_small_letters(folder, name):
    program = program_of({**yaml_folder(b""), f"{folder}/{name}.md": b"# Text"})
    held = {one.id.rpartition("::")[2] for one in (*program.skills, *program.resources, *program.templates)}
    assert held == {name}
    assert not program_of({**yaml_folder(b""), f"{folder}/{name.upper()}.md": b"# Text"}).resources


@pytest.mark.parametrize("ending", ["md", "MD", "Md"])
def test_a_technique_is_called_by_its_file_without_the_ending_however_that_is_written(ending):
    files = yaml_folder(b"steps: [{kind: technique, technique: sort}]\n", **{f"techniques__sort.{ending}": b"# Sort"})
    assert compiled(files).problems == ()


BROKEN = b"id: scan\nversion: 1.0.0\nname: Scan\nsteps: [\n"


def test_a_lent_activity_that_cannot_be_read_is_told_where_it_is_kept():
    compilation = compiled(yaml_folder(b"", **{"activities__patterns__01-scan.yaml": BROKEN}))

    told = {(problem.code.value, problem.severity.value, problem.file) for problem in compilation.problems}

    assert told >= {("bad_yaml", "warning", "activities/patterns/01-scan.yaml")}
    assert only(compilation.problems, "bad_yaml").line
    assert compilation.program is not None


def test_a_lent_activity_of_ones_own_that_cannot_be_read_is_the_one_problem():
    listed = b"activities: [patterns/01-scan.yaml]\n"
    (problem,) = compiled(
        yaml_folder(b"", about=listed + b"initialActivity: a1\n", **{"activities__patterns__01-scan.yaml": BROKEN})
    ).problems
    assert problem.code is ProblemCode.BAD_YAML


# A lender of which something cannot be read

UNREADABLE = (b"id: [\n", b"\xff", b"- a\n- b\n", b"", b"a: 1\na: 2\n")
LENT = b"id: lent\nversion: 1.0.0\nname: Lent\n"
# What of a lender a workflow may refer to, by how it does, with the file of the lender that has to be read for it.
BORROWING = {
    "a rule": (
        b"rules:\n  workflow:\n    - {ref: 'side::single'}\n    - {ref: 'side::another'}\n",
        b"",
        "workflow.yaml",
    ),
    "a question": (b"", b"steps: [{kind: checkpoint, id: ask, ref: 'side::sure'}]\n", "workflow.yaml"),
    "an activity in a folder of the lender's own": (
        b"initialActivity: lent\ngraph: {a1: {done: lent}}\nactivities: [side/01-lent.yaml]\n",
        b"exits: [{id: done, isDefault: true}]\n",
        "workflow.yaml",
    ),
    "the question of a borrowed activity": (b"activities: [side/02-asks.yaml]\n", b"", "workflow.yaml"),
    "an activity": (
        b"initialActivity: read\nactivities: [side/03-read.yaml]\n",
        b"transitions: [{to: read, isDefault: true}]\n",
        "activities/03-read.yaml",
    ),
    "a technique": (b"", b"steps: [{kind: technique, technique: 'side::cut'}]\n", "techniques/cut.md"),
    "some rules of a technique": (
        b"techniques: {workflow: ['side::cut::calm', 'side/cut']}\n",
        b"steps: [{kind: technique, technique: 'side::cut'}]\n",
        "techniques/cut.md",
    ),
    "a skill": (b"", b"steps: [{id: do, name: Do, skill: side/file}]\n", "skills/00-file.yaml"),
    "a guide": (
        b"modes: [{id: m, name: M, activationVariable: v, resource: side/guide}]\n",
        b"",
        "resources/01-guide.yaml",
    ),
    "a guide by its number": (
        b"modes: [{id: m, name: M, activationVariable: v, resource: side/01}]\n",
        b"",
        "resources/01-guide.yaml",
    ),
    "a guide by the name that it gives itself": (
        b"modes: [{id: m, name: M, activationVariable: v, resource: side/told}]\n",
        b"",
        "resources/01-guide.yaml",
    ),
}
LENDER = {
    "workflow.yaml": b"id: side\nversion: 1.0.0\ntitle: Side\nactivitiesDir: phases\nfragments:\n"
    b"  rules: {single: Of the side, another: As well}\n  checkpoints:\n" + SURE,
    "phases/01-lent.yaml": LENT,
    "phases/02-asks.yaml": b"id: asks\nversion: 1.0.0\nname: Asks\nsteps: [{kind: checkpoint, id: ask, ref: sure}]\n",
    "phases/03-read.yaml": LENT.replace(b"lent", b"read"),
    "techniques/cut.md": technique("cut") + b"\n## Rules\n\n### calm-one\n\nBe calm.\n",
    "skills/00-file.yaml": b"id: file\nversion: 1.0.0\ncapability: Files\n",
    "resources/01-guide.yaml": b"id: told\ntitle: Guide\n",
}
DECLARED = b"variables: [{name: v, type: boolean}]\n"


def in_place(files, *, is_plain):
    """The activities of the lender in the folder that needs no naming."""
    made = {path.replace("phases/", "activities/") if is_plain else path: data for path, data in files.items()}
    said = made["workflow.yaml"].replace(b"activitiesDir: phases\n", b"" if is_plain else b"activitiesDir: phases\n")
    return {**made, "workflow.yaml": said}


@pytest.mark.parametrize("bad", UNREADABLE)
@pytest.mark.parametrize("what", BORROWING)
def test_a_file_of_a_lender_that_cannot_be_read_is_the_one_problem_and_named(what, bad):
    about, body, broken = BORROWING[what]
    is_own = what == "an activity in a folder of the lender's own"
    lender = in_place(LENDER, is_plain=not is_own)
    borrower = yaml_folder(body, about=DECLARED + about)
    told = compiled(borrower, library=of(side=lender)).problems
    assert [problem for problem in told if problem.code is not ProblemCode.UNREACHABLE] == []
    if broken.endswith(".md"):
        bad = b"\xff"
    if bad == b"a: 1\na: 2\n" and broken.endswith(".md"):
        pytest.skip("Of a text nothing stands twice.")

    told = compiled(borrower, library=of(side={**lender, broken: bad})).problems

    if bad in (b"- a\n- b\n", b"") and broken.startswith("resources/"):
        # A guide may be a list.
        return
    assert [problem.file for problem in told] == [f"side/{broken}"], told
    assert "not" not in told[0].code.value.split("_")


@pytest.mark.parametrize(
    "fragments",
    [
        b"fragments: 5\n",
        b"fragments: {rules: [x], checkpoints: y}\n",
        b"fragments: {rules: {single: 7}, checkpoints: {sure: 7}}\n",
    ],
)
@pytest.mark.parametrize("what", ["a rule", "a question", "the question of a borrowed activity"])
def test_a_fragment_of_a_lender_in_another_form_is_told_where_the_lender_keeps_it(what, fragments):
    about, body, _ = BORROWING[what]
    about = about.replace(b"    - {ref: 'side::another'}\n", b"")
    lender = in_place(LENDER, is_plain=True) | {"workflow.yaml": b"id: side\nversion: 1.0.0\ntitle: Side\n" + fragments}

    (problem,) = compiled(yaml_folder(body, about=DECLARED + about), library=of(side=lender)).problems

    assert (problem.code, problem.file) == (ProblemCode.WRONG_TYPE, "side/workflow.yaml")


def test_an_activity_that_nobody_lends_is_the_one_problem():
    about = b"initialActivity: gone\nactivities: [side/09-gone.yaml]\ngraph: {gone: {done: a1}}\n"

    (problem,) = compiled(yaml_folder(b"", about=about), library=of(side=LENDER)).problems

    assert problem.code is ProblemCode.UNKNOWN_ACTIVITY


@pytest.mark.parametrize("key", ["activites", "actvities", "activitie"])
def test_activities_that_are_listed_under_a_misspelt_key_are_the_one_problem(key):
    about = f"initialActivity: lent\n{key}: [side/01-lent.yaml]\n".encode()
    for own in ((), (b"transitions: [{to: lent, isDefault: true}]\n",)):
        (problem,) = compiled(yaml_folder(*own, about=about), library=of(side=in_place(LENDER, is_plain=True))).problems

        assert (problem.code, problem.path) == (ProblemCode.MISSING_KEY, "activities")
        assert repr(key) in problem.suggestion


# What a reference that leads nowhere is compared with

KEEPS = {
    "activities/01-a1.yaml": b"id: a1\nversion: 1.0.0\nname: A\n",
    "techniques/cut.md": b"# Cut\n",
    "techniques/stone/dress.md": b"# Dress\n",
}


@pytest.mark.parametrize(
    ("reference", "suggestion", "is_of_another"),
    [
        ("ctu", "Did you mean 'cut'?", False),
        ("stone::drss", "Did you mean 'stone::dress'?", False),
        ("team.side/ctu", "Did you mean 'team.side/cut'?", True),
        ("team.side::ctu", "Did you mean 'team.side::cut'?", True),
        ("team.side::stone::drss", "Did you mean 'team.side::stone::dress'?", True),
        ("team.sdie::stone::dress", "", False),
        ("team.sdie/cut", "", False),
    ],
)
def test_a_reference_that_leads_nowhere_is_compared_with_the_names_of_the_folder_that_it_names(
    reference, suggestion, is_of_another
):
    side = {**KEEPS, "workflow.yaml": b"id: team.side\nversion: 1.0.0\ntitle: Side\ninitialActivity: a1\n"}
    uses = f"steps: [{{kind: technique, technique: '{reference}'}}]\n".encode()
    files = yaml_folder(uses, **{path.replace("/", "__"): KEEPS[path] for path in KEEPS if "techniques" in path})

    problem = only(compiled(files, library=of(**{"team.side": side})).problems, "unknown_skill")

    assert (problem.suggestion, problem.tells_of_other) == (suggestion, is_of_another)


TRIGGERS = {"workflow": "team.cart", "description": "Fetch."}


@pytest.mark.parametrize("broken", ["", 'id: "x', "\xff", "id: a\nid: b\n"])
@pytest.mark.parametrize(
    ("folder_name", "named"),
    [("team.cart", "team.cart"), ("cart", "team.cart"), ("team.cart", "cart"), ("cart", "cart"), ("other", "other")],
)
@pytest.mark.parametrize("entry", ["workflow.yaml", "workflow.toon"])
def test_a_workflow_that_is_started_and_cannot_be_read_is_told_by_its_own_file_once(broken, folder_name, named, entry):
    trigger = {**TRIGGERS, "workflow": named}
    files = folder(activity(triggers=[trigger, trigger], steps=[step("do", triggers=[trigger])]))
    library = Library(
        folders={folder_name: {entry: broken.encode("latin-1")}}, workflow_ids=frozenset({"team.plan", "team.card"})
    )

    (problem,) = compiled(files, library=library).problems

    assert (problem.severity.value, problem.file) == ("warning", f"{folder_name}/{entry}")


@pytest.mark.parametrize("named", ["team.cart", "other.cart", "crt"])
def test_a_workflow_that_is_started_and_is_not_there_is_told_though_another_one_cannot_be_read(named):
    files = folder(activity(triggers=[{**TRIGGERS, "workflow": named}], steps=[step("do")]))
    folders = {"team.mill": {"workflow.yaml": b"id: ["}, "cart": {"workflow.yaml": b"id: team.carts"}}
    library = Library(folders=folders, workflow_ids=frozenset({"team.plan", "team.carts"}))

    assert codes(compiled(files, library=library).problems) == ["unknown_workflow"]


LOST = {
    "activities": {"activities": ["team.one/01-a.yaml", "team.two/01-a.yaml"]},
    "rules": {"rules": [{"ref": "team.one::a"}, {"ref": "team.two::a"}, {"ref": "team.one::b"}]},
}


@pytest.mark.parametrize("what", LOST)
def test_of_two_that_lend_and_cannot_be_read_both_are_told(what):
    folders = {name: {"workflow.yaml": b"\xff"} for name in ("team.one", "team.two")}
    files = folder(about=workflow(**LOST[what]))

    told = compiled(files, library=Library(folders=folders)).problems

    assert [problem.file for problem in told] == ["team.one/workflow.yaml", "team.two/workflow.yaml"]


@pytest.mark.parametrize("of_group", ["technique", "techniques", "primary", "supporting"])
@pytest.mark.parametrize("is_lent", [False, True])
def test_an_activity_whose_id_is_not_the_name_of_its_file_and_of_its_group_is_the_one_problem(is_lent, of_group):
    refers = {
        "technique": {"steps": [{"kind": "technique", "id": "s", "technique": "shake"}]},
        "techniques": {"techniques": ["shake"], "steps": [step("s")]},
        "primary": {"skills": {"primary": "shake"}, "steps": [step("s")]},
        "supporting": {"skills": {"primary": "sift::shake", "supporting": ["shake"]}, "steps": [step("s")]},
    }[of_group]
    held = {
        "activities/01-sift.yaml": json.dumps(activity("sifft", **refers)).encode(),
        "techniques/sift/shake.md": b"# Shake\n",
    }
    about = workflow(activities=["team.lends/01-sift.yaml"] if is_lent else [])
    files = {"workflow.toon": toon(about), **({} if is_lent else held)}
    library = Library(folders={"team.lends": {"workflow.yaml": b"id: team.lends\n", **held}})

    (problem,) = compiled(files, library=library).problems

    home = "team.lends/" if is_lent else ""
    assert (problem.code.value, problem.file) == ("conflicting_keys", f"{home}activities/01-sift.yaml")


def test_a_skill_that_is_nowhere_is_told_in_an_activity_whose_id_is_not_the_name_of_its_file():
    document = activity("sifft", steps=[{"kind": "technique", "id": "s", "technique": "shaek"}])
    files = {
        "workflow.toon": toon(workflow()),
        "activities/01-sift.yaml": json.dumps(document).encode(),
        "techniques/sift/shake.md": b"# Shake\n",
    }

    assert sorted(codes(compiled(files).problems)) == ["conflicting_keys", "unknown_skill"]


@pytest.mark.parametrize(
    "path", ["activities/01_a.yaml", "activites/01-a.yaml", "activities/01-a.yaml.txt", "01-a.yaml"]
)
def test_a_borrowed_activity_whose_file_is_there_and_is_not_read_is_told_with_that_file(path):
    lent = {
        "workflow.yaml": b"id: team.lends\n",
        path: json.dumps(activity("a")).encode(),
        "activities/02-b.yaml": json.dumps(activity("b")).encode(),
    }
    files = {"workflow.toon": toon(workflow(activities=["team.lends/01-a.yaml"]))}

    (problem,) = compiled(files, library=Library(folders={"team.lends": lent})).problems

    assert (problem.code.value, problem.path) == ("unknown_activity", "activities[0]")
    assert repr(f"team.lends/{path}") in problem.suggestion
