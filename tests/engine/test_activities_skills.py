"""Skills, resources, templates and rules: where they are found, and what a program holds of them."""

import re

import pytest

from tests.activity_folders import (
    activity,
    codes,
    compiled,
    folder,
    only,
    program_of,
    skill,
    step,
    toon,
    workflow,
    written,
)
from workflows_app.engine import canonical
from workflows_app.engine.activities.references import find_resource, find_skill
from workflows_app.engine.places import replacement
from workflows_app.engine.problems import ProblemCode, Severity
from workflows_app.engine.program import ProvenanceKind, workflow_hash
from workflows_app.engine.source import ContentKind, Library, Strictness, is_named_by_content


def library(**folders):
    made = {name: {"workflow.toon": toon(workflow()), **written(files)} for name, files in folders.items()}
    return Library(folders=made)


META = {"skills__00-shared.toon": skill("shared"), "skills__01-other.toon": skill("other")}


def using(*references, **more):
    return folder(activity(steps=[step(f"s{n}", skill=ref) for n, ref in enumerate(references)]), **more)


def held(program):
    return [(one.owner, one.id) for one in program.skills]


def test_a_skill_of_the_folder_comes_before_that_of_meta():
    files = using("shared", **{"skills__07-shared.toon": skill("shared", capability="Ours")})
    program = program_of(files, library=library(meta=META))
    assert held(program) == [("team.plan", "shared"), ("meta", "shared"), ("meta", "other")]
    found = find_skill(program=program, reference="shared")
    assert (found.owner, found.index, found.summary) == ("team.plan", "07", "Ours")
    assert find_skill(program=program, reference="other").owner == "meta"


def test_every_skill_of_meta_belongs_to_every_program():
    assert held(program_of(folder(), library=library(meta=META))) == [("meta", "shared"), ("meta", "other")]


def test_of_other_workflows_only_the_skills_that_are_used_belong_to_it():
    others = library(meta=META, side={"skills__00-a.toon": skill("a"), "skills__01-b.toon": skill("b")})
    program = program_of(using("side/a"), library=others)
    assert held(program) == [("meta", "shared"), ("meta", "other"), ("side", "a")]
    assert find_skill(program=program, reference="side/a").summary == "Does a"


def test_meta_itself_needs_no_library():
    files = {**using("shared", about={**workflow(), "id": "meta"}), **written(META)}
    program = program_of(files)
    assert held(program) == [("meta", "shared"), ("meta", "other")]


def test_a_workflow_that_was_renamed_answers_to_its_old_name_within_itself():
    program = program_of(using("plan/mine", **{"skills__00-mine.toon": skill("mine")}))
    assert find_skill(program=program, reference="plan/mine").owner == "team.plan"


@pytest.mark.parametrize("reference", ["gone", "side/gone", "nowhere/a", "a::b"])
def test_a_skill_that_is_nowhere_is_a_warning_at_its_step(reference):
    others = library(meta=META, side={"skills__00-a.toon": skill("a")})
    problem = only(compiled(using(reference), library=others).warnings, ProblemCode.UNKNOWN_SKILL)
    assert (problem.file, problem.path) == ("activities/01-work.toon", "steps[0].skill")


def test_a_misspelt_skill_is_told_its_nearest_name():
    problem = only(compiled(using("shraed"), library=library(meta=META)).warnings, ProblemCode.UNKNOWN_SKILL)
    assert problem.suggestion == "Did you mean 'shared'?"


def test_skills_of_workflow_and_activity_are_looked_for_as_well():
    said = activity(skills={"primary": "p", "supporting": ["q", "shared"]}, steps=[step("do")])
    warnings = compiled(folder(said, about=workflow(skills=["w"])), library=library(meta=META)).warnings
    assert [(p.file, p.path) for p in warnings] == [
        ("activities/01-work.toon", "skills.primary"),
        ("activities/01-work.toon", "skills.supporting[0]"),
        ("workflow.toon", "skills"),
    ]


@pytest.mark.parametrize("strictness", list(Strictness))
def test_a_broken_skill_is_told_by_its_file_and_by_each_step_that_names_it(strictness):
    files = using("mine", **{"skills__00-mine.toon": b"id: mine\n  over: indented"})
    compilation = compiled(files, strictness=strictness)
    assert compilation.program is not None
    broken = only(compilation.warnings, ProblemCode.BAD_TOON)
    assert (broken.file, broken.line, broken.severity) == ("skills/00-mine.toon", 2, Severity.WARNING)
    step_says = only(compilation.warnings, ProblemCode.UNKNOWN_SKILL)
    assert (step_says.path, step_says.suggestion) == ("steps[0].skill", "Mend skills/00-mine.toon.")


def test_a_broken_skill_of_our_own_leaves_that_of_meta():
    files = using("shared", **{"skills__00-shared.toon": b"id: a\nid: b"})
    compilation = compiled(files, library=library(meta=META))
    assert codes(compilation.warnings) == ["duplicate_key"]
    assert find_skill(program=compilation.program, reference="shared").owner == "meta"


def test_a_broken_skill_of_meta_is_told_with_its_folder():
    compilation = compiled(folder(), library=library(meta={"skills__00-x.toon": b"id: a\nid: b"}))
    assert only(compilation.warnings, ProblemCode.DUPLICATE_KEY).file == "meta/skills/00-x.toon"


def test_a_skill_without_what_it_is_for_is_told():
    said = {"id": "other-name", "version": "1.0.0"}
    warnings = compiled(folder(**{"skills__00-mine.toon": said})).warnings
    assert [(p.code.value, p.path) for p in warnings] == [("missing_key", "capability"), ("conflicting_keys", "id")]


def test_a_skill_is_held_by_its_text_which_agents_read_and_an_activity_by_its_values():
    first = folder(**{"skills__00-s.toon": b"id: s\nversion: 1.0.0\ncapability: Do\n"})
    second = folder(**{"skills__00-s.toon": b"# A comment\ncapability: Do\nversion: 1.0.0\nid: s\n"})
    spaced = {path: data + b"\n" if path.startswith("activities/") else data for path, data in first.items()}

    assert workflow_hash(program_of(first)) != workflow_hash(program_of(second))
    assert spaced != first
    assert workflow_hash(program_of(spaced)) == workflow_hash(program_of(first))


def test_contents_stand_behind_their_digests():
    files = folder(
        **{
            "skills__00-s.toon": skill("s"),
            "resources__00-guide.md": b"---\nid: guide\n---\n# Guide\n",
            "resources__01-data.toon": {"id": "data", "title": "Data"},
            "templates__01-letter.md": b"Dear {{name}}",
            "rules.toon": {"id": "rules", "sections": []},
        }
    )
    compilation = compiled(files)
    program = compilation.program
    held_digests = {one.digest for one in (*program.skills, *program.resources, *program.templates)}
    assert {content.digest for content in compilation.contents} == held_digests | {program.global_rules}
    by_kind = {content.kind: content for content in compilation.contents if content.text}
    assert by_kind[ContentKind.TEMPLATE].text == "Dear {{name}}"
    assert by_kind[ContentKind.SKILL].document["capability"] == "Does s"
    assert all(
        is_named_by_content(digest=each.digest, text=each.text, document=each.document) for each in compilation.contents
    )
    assert by_kind[ContentKind.SKILL].digest != canonical.canonical_digest(skill("s"))
    assert by_kind[ContentKind.RULES].document == {"id": "rules", "sections": []}


# Resources


def test_a_resource_has_its_name_from_front_matter_else_from_its_file():
    files = folder(
        **{
            "resources__02-plan-guide.md": b"---\nid: plan\nversion: 2.0.0\ntitle: The plan\n---\n# Heading\n",
            "resources__03-how-to.md": b"# How to\n",
            "resources__04-table.toon": {"id": "table", "version": "1.0.0", "title": "T"},
            "resources__05-plain.md": b"text",
        }
    )
    found = program_of(files).resources
    assert [(one.index, one.id, one.version, one.title, one.format) for one in found] == [
        ("02", "plan", "2.0.0", "The plan", "markdown"),
        ("03", "how-to", "", "How to", "markdown"),
        ("04", "table", "1.0.0", "T", "toon"),
        ("05", "plain", "", "Plain", "markdown"),
    ]


@pytest.mark.parametrize("written_as", ["1", "01", "001", "01-guide", "guide", "resources/01-guide.md", "guide#part"])
@pytest.mark.parametrize("index", ["1", "01", "001"])
def test_one_resource_answers_to_every_spelling_of_its_index(index, written_as):
    program = program_of(folder(**{f"resources__{index}-guide.md": b"# G", "resources__00-zero.md": b"# Z"}))
    assert find_resource(program=program, reference=written_as).id == "guide"


@pytest.mark.parametrize("reference", ["0", "00", "000"])
def test_zero_is_an_index_like_any_other(reference):
    program = program_of(
        folder(**{"resources__00-zero.md": b"# Z", "resources__01-one.md": b"# O", "resources__x.md": b""})
    )
    assert find_resource(program=program, reference=reference).id == "zero"


def test_toon_comes_before_markdown_of_the_same_index():
    files = folder(**{"resources__01-guide.md": b"# G", "resources__01-guide.toon": {"id": "guide", "title": "T"}})
    compilation = compiled(files)
    assert find_resource(program=compilation.program, reference="1").format == "toon"
    assert len(compilation.program.resources) == 2
    assert only(compilation.warnings, ProblemCode.DUPLICATE_ID).file == "resources/01-guide.md"


def test_guides_are_resources_where_there_are_no_others():
    assert [one.id for one in program_of(folder(**{"guides__00-old.md": b"# Old"})).resources] == ["old"]
    both = compiled(folder(**{"guides__00-old.toon": {"id": "old"}, "resources__00-new.md": b"# New"}))
    assert [one.id for one in both.program.resources] == ["new"]
    assert only(both.warnings, ProblemCode.UNKNOWN_FILE).file == "guides/00-old.toon"


def test_what_a_skill_reads_belongs_to_the_program_wherever_it_is():
    others = library(
        meta={
            "skills__00-shared.toon": skill("shared", resources=["meta/02", "03"]),
            "resources__01-not-read.md": b"# N",
            "resources__02-two.md": b"---\nid: second\n---\n",
            "resources__03-three.md": b"# 3",
        }
    )
    files = folder(**{"skills__00-s.toon": skill("s", resources=["01"]), "resources__01-own.md": b"# O"})
    program = program_of(files, library=others)
    assert [(one.owner, one.id) for one in program.resources] == [
        ("team.plan", "own"),
        ("meta", "second"),
        ("meta", "three"),
    ]
    assert find_resource(program=program, reference="03", home="meta").id == "three"
    assert find_resource(program=program, reference="meta/2").id == "second"


def test_a_bare_reference_of_a_shared_skill_means_the_workflow_that_runs_first():
    others = library(meta={"skills__00-s.toon": skill("s", resources=["01"]), "resources__01-theirs.md": b"# T"})
    program = program_of(folder(**{"resources__01-ours.md": b"# O"}), library=others)
    assert [one.id for one in program.resources] == ["ours"]


@pytest.mark.parametrize("reference", ["09", "meta/09", "nowhere/01", "guide"])
def test_a_resource_that_is_nowhere_is_a_warning_at_its_skill(reference):
    files = folder(**{"skills__00-s.toon": skill("s", resources=[reference])})
    problem = only(compiled(files, library=library(meta={})).warnings, ProblemCode.UNKNOWN_RESOURCE)
    assert (problem.file, problem.path) == ("skills/00-s.toon", "resources[0]")


def test_the_first_generation_names_one_resource_by_its_id():
    files = folder(**{"skills__00-s.toon": skill("s", resource="plan"), "resources__10-wp.md": b"---\nid: plan\n---\n"})
    assert compiled(files).problems == ()


def test_the_resource_of_a_mode_is_looked_for():
    mode = {"id": "m", "name": "M", "activationVariable": "x", "resource": "resources/24-mode.md"}
    about = workflow(modes=[mode], variables=[{"name": "x", "type": "boolean"}])
    assert compiled(folder(about=about, **{"resources__24-mode.md": b"# M"})).problems == ()
    problem = only(compiled(folder(about=about)).warnings, ProblemCode.UNKNOWN_RESOURCE)
    assert (problem.file, problem.path) == ("workflow.toon", "modes[0].resource")


@pytest.mark.parametrize("data", [b"\xff", b"id: a\nid: b"])
def test_a_broken_resource_is_a_warning(data):
    compilation = compiled(folder(**{"resources__00-bad.toon": data}))
    assert compilation.program is not None
    assert [(p.file, p.severity) for p in compilation.problems] == [("resources/00-bad.toon", Severity.WARNING)]


def test_a_template_is_any_text_and_in_markdown_may_name_itself():
    files = folder(
        **{
            "templates__01-brief.md": b"---\nid: short-brief\nversion: 1.0.0\n---\n# Brief\r\n{{ x }}\n",
            "templates__02-letter.txt": b"Dear {{name}}",
            "templates__03-data.json": b"{not json",
            "templates__04-bad.md": b"\xff",
        }
    )
    compilation = compiled(files)
    found = compilation.program.templates
    assert [(one.index, one.id, one.version, one.title, one.format) for one in found] == [
        ("01", "short-brief", "1.0.0", "Brief", "markdown"),
        ("02", "letter", "", "Letter", "txt"),
        ("03", "data", "", "Data", "json"),
    ]
    texts = {content.digest: content.text for content in compilation.contents}
    assert texts[found[0].digest].endswith("# Brief\n{{ x }}\n")
    assert [p.file for p in compilation.warnings] == ["templates/04-bad.md"]


# Rules


def test_the_rules_of_meta_hold_for_all_and_their_origin_is_noted():
    others = library(meta={"rules.toon": {"id": "agent-rules"}})
    compilation = compiled(folder(), library=others)
    (content,) = compilation.contents
    assert (content.kind, compilation.program.global_rules) == (ContentKind.RULES, content.digest)
    (noted,) = compilation.program.provenance
    assert (noted.kind, noted.at, noted.source, noted.digest) == (
        ProvenanceKind.META,
        "global_rules",
        "meta/rules",
        content.digest,
    )


def test_rules_of_its_own_come_before_those_of_meta():
    files = folder(**{"rules.toon": {"id": "ours"}})
    compilation = compiled(files, library=library(meta={"rules.toon": {"id": "theirs"}}))
    assert [content.document for content in compilation.contents] == [{"id": "ours"}]
    assert compilation.program.provenance == ()


def test_rules_that_cannot_be_read_are_an_error_unless_the_reading_is_legacy():
    files = folder(**{"rules.toon": b"a: 1\n  b: 2"})
    assert compiled(files).program is None
    assert compiled(files, strictness=Strictness.LEGACY).program is not None


# Borrowed activities


SIDE = {
    "activities__02-design.toon": activity("design", steps=[step("think", skill="thought")]),
    "skills__00-thought.toon": skill("thought"),
}


def test_a_borrowed_activity_comes_from_the_other_folder_and_says_so():
    about = workflow(activities=["side/02-design.toon"])
    compilation = compiled(folder(about=about), library=library(side=SIDE))
    work, design = compilation.program.activities
    assert (work.borrowed_from, design.id, design.borrowed_from, design.artifact_prefix) == ("", "design", "side", "02")
    (noted,) = compilation.program.provenance
    assert (noted.at, noted.kind, noted.source) == ("design", ProvenanceKind.BORROWED, "side/activities/02-design.toon")
    assert noted.digest.startswith("sha256:")
    assert compilation.problems == ()


def test_a_borrowed_activity_finds_the_skills_of_its_home():
    program = program_of(folder(about=workflow(activities=["side/02-design"])), library=library(side=SIDE))
    assert find_skill(program=program, reference="thought", home="side").owner == "side"
    assert "Does thought" in program.activities[1].body[0].prompt


def test_an_activity_of_the_folder_comes_before_one_that_is_borrowed():
    about = workflow(activities=["01-design.toon", "side/02-design.toon"])
    program = program_of(folder(activity("design"), about=about), library=library(side=SIDE))
    assert [(one.id, one.borrowed_from) for one in program.activities] == [("design", "")]


@pytest.mark.parametrize("reference", ["03-gone.toon", "side/03-gone.toon", "nowhere/02-design.toon"])
def test_a_listed_activity_that_is_nowhere_is_an_error(reference):
    compilation = compiled(folder(about=workflow(activities=[reference])), library=library(side=SIDE))
    problem = only(compilation.errors, ProblemCode.UNKNOWN_ACTIVITY)
    assert (problem.file, problem.path) == ("workflow.toon", "activities[0]")


LENT = {
    f"activities__{place}": activity(place[3:-5])
    for place in ("03-research.toon", "11-complete.toon", "lent__07-ask.toon")
}


def named_in(suggestion):
    """The files that a next move offers: the one that was meant, or those that there are."""
    meant = re.findall(r"Did you mean '([^']+)'", suggestion)
    return meant or suggestion.removeprefix("Known: ").removesuffix(".").split(", ")


@pytest.mark.parametrize(
    ("reference", "offered"),
    [
        ("side/14-complete.yaml", ["side/11-complete.toon"]),
        ("side/03-reserch.toon", ["side/03-research.toon"]),
        ("side/03-reserch", ["side/03-research.toon"]),
        ("../side/activities/03-reserch.toon", ["side/03-research.toon"]),
        ("side/zzz", ["side/03-research.toon", "side/11-complete.toon", "side/lent/07-ask.toon"]),
        ("01-wrok.toon", ["01-work.toon"]),
        ("plan/01-wrok.toon", ["01-work.toon"]),
        ("activities/zzz", ["01-work.toon"]),
    ],
)
def test_what_is_offered_for_a_listed_activity_that_is_nowhere_can_be_listed(reference, offered):
    def listing(listed):
        return compiled(folder(about=workflow(activities=[listed])), library=library(side=LENT))

    problem = only(listing(reference).errors, ProblemCode.UNKNOWN_ACTIVITY)

    assert named_in(problem.suggestion) == offered
    for name in offered:
        assert listing(name).errors == ()


def test_a_listed_activity_that_is_nowhere_is_mended_by_what_was_meant():
    reference = "side/14-complete.yaml"
    compilation = compiled(folder(about=workflow(activities=[reference])), library=library(side=LENT))
    problem = only(compilation.errors, ProblemCode.UNKNOWN_ACTIVITY)

    change = replacement(message=problem.message, suggestion=problem.suggestion, line=f"- {reference}")

    assert change == (reference, "side/11-complete.toon")


def test_a_borrowed_activity_that_is_broken_is_an_error_with_its_folder():
    broken = library(side={"activities__02-design.toon": b"id: a\nid: b"})
    compilation = compiled(folder(about=workflow(activities=["side/02-design.toon"])), library=broken)
    assert only(compilation.errors, ProblemCode.DUPLICATE_KEY).file == "side/activities/02-design.toon"


def test_inline_activities_follow_those_of_the_folder():
    about = workflow(activities=[activity("inline", steps=[step("x", checkpoint="gone")])])
    compilation = compiled(folder(activity("filed"), about=about))
    assert [one.id for one in compilation.program.activities] == ["filed", "inline"]
    problem = only(compilation.warnings, ProblemCode.UNKNOWN_CHECKPOINT)
    assert (problem.file, problem.path) == ("workflow.toon", "activities[0].steps[0].checkpoint")
