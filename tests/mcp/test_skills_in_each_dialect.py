"""What a reply names as a skill is read, by the call and the name that the reply gives, as the very skill that is meant: of an
activity that was borrowed, of what holds for every technique of a folder or a group, and of whoever leads a workflow.
"""

import re

import pytest

from tests.checkpoint_cast import publish_folder
from tests.handover_play import caller, text_of
from tests.mcp.test_told_in_each_dialect import revised
from tests.run_cast import make_desk
from tests.workflow_cast import NOW
from workflows_app.engine.activities import skills
from workflows_app.services import extensions, publishing
from workrail_site.dialects.offers.completing import complete
from workrail_site.dialects.offers.reading import read_resource

pytestmark = pytest.mark.django_db(transaction=True)

DIALECTS = ["rail", "lookup", "navigation", "session", "orchestrator"]


def written(**files):
    return {path.replace("__", "/"): text.encode() for path, text in files.items()}


LENDER = {
    "workflow.yaml": b"""
id: team.lender
version: 1.0.0
title: Lender
initialActivity: sorting
graph: {sorting: {done: __terminal__}}
""",
    "activities/01-sorting.yaml": b"""
id: sorting
version: 1.0.0
name: Sorting
techniques: [sift, "bins::tidy"]
steps:
  - {kind: technique, id: sort-it, technique: sift}
  - {kind: technique, id: only-there, technique: "bins::tidy"}
  - {kind: technique, id: grouped, technique: weigh}
  - {kind: technique, id: borrowed-too, technique: drive}
exits:
  - {id: done, isDefault: true}
""",
    "techniques/sift.md": b"# Lender sift\n\nBy weight.\n",
    "techniques/bins/tidy.md": b"# Lender tidy\n\nStack them.\n",
    "techniques/bins/TECHNIQUE.md": b"## Capability\n\nBins of the lender.\n\n## Rules\n\n### no-tipping\n\nNEVER TIP A BIN.\n",
    "techniques/sorting/weigh.md": b"# Lender weigh\n\nOn the scale.\n",
    "techniques/TECHNIQUE.md": b"## Capability\n\nAll of the lender.\n\n## Rules\n\n### dry\n\nKEEP THE LENDER DRY.\n",
}
BORROWER = {
    "workflow.yaml": b"""
id: team.borrower
version: 1.0.0
title: Borrower
activities: [team.lender/01-sorting.yaml]
initialActivity: sorting
graph: {sorting: {done: ending}}
""",
    "activities/02-ending.yaml": b"""
id: ending
version: 1.0.0
name: Ending
techniques: ["conduct::worker"]
steps:
  - {kind: technique, id: own-sort, technique: sift}
  - {kind: technique, id: own-group, technique: "bins::empty"}
""",
    "techniques/sift.md": b"# Borrower sift\n\nBy colour.\n",
    "techniques/drive.md": b"# Borrower drive\n\nSlowly.\n",
    "techniques/conduct.md": b"# Conduct\n\n## Rules\n\n### worker-quiet\n\nWORKERS ARE QUIET.\n",
    "techniques/bins/empty.md": b"# Borrower empty\n\nDaily.\n",
    "techniques/bins/TECHNIQUE.md": b"## Capability\n\nBins of the borrower.\n\n## Rules\n\n### no-fire\n\nNEVER BURN A BIN.\n",
    "techniques/sorting/weigh.md": b"# Borrower weigh\n\nBy hand.\n",
    "techniques/TECHNIQUE.md": b"## Capability\n\nAll of the borrower.\n\n## Rules\n\n### clean\n\nKEEP THE BORROWER CLEAN.\n",
}
# The technique of each step; of which contracts the rules hold for it, with the words of them that are no rules.
MEANT = {
    "sort-it": ("# Lender sift", ["KEEP THE LENDER DRY."], ["All of the lender."]),
    "only-there": (
        "# Lender tidy",
        ["KEEP THE LENDER DRY.", "NEVER TIP A BIN."],
        ["All of the lender.", "Bins of the lender."],
    ),
    "grouped": ("# Lender weigh", ["KEEP THE LENDER DRY."], ["All of the lender."]),
    "borrowed-too": ("# Borrower drive", ["KEEP THE BORROWER CLEAN."], ["All of the borrower."]),
    "own-sort": ("# Borrower sift", ["KEEP THE BORROWER CLEAN."], ["All of the borrower."]),
    "own-group": (
        "# Borrower empty",
        ["KEEP THE BORROWER CLEAN.", "NEVER BURN A BIN."],
        ["All of the borrower.", "Bins of the borrower."],
    ),
}
RULES = {rule for _, rules, _ in MEANT.values() for rule in rules}


@pytest.fixture
def desk(transactional_db):
    made = make_desk()
    publish_folder(made, LENDER, "team.lender")
    publish_folder(made, BORROWER, "team.borrower")
    return made


class Reader:
    """Reads the skills of the borrower by a dialect, by what its replies say. `named` is what names a skill in the reply, `read` how
    it is read by that.
    """

    def __init__(self, dialect, actor):
        self.call = caller(dialect, actor)
        self.dialect = dialect

    def of_steps(self):
        """By each step the text of its skill, and by each activity those of the skills that are for all of it."""
        found = {"steps": {}, "activities": {}}
        walk = {"rail": self._rail, "lookup": self._lookup, "navigation": self._navigation}.get(
            self.dialect, self._handed_over
        )
        for kind, name, text in walk():
            found[kind][name] = text
        return found

    def _rail(self):
        reply = self.call("start_workflow", workflowId="team.borrower", goal="Sort")
        while reply["nextCall"]:
            pending = reply["pending"]
            yield from self._told(pending["prompt"], pending["stepId"], "inspect_workflow")
            for line in pending.get("activityGuidance", ()):
                yield from self._listed(line, pending["activityId"], "inspect_workflow")
            reply = self.call(
                "continue_workflow", **reply["nextCall"]["params"] | {"output": {"notesMarkdown": "Did it."}}
            )

    def _lookup(self):
        done = []
        while (reply := self.call("workflow_next", workflowId="team.borrower", completedSteps=done))["step"]:
            done.append(reply["step"]["id"])
            activity, _, step = done[-1].replace("@0", "").partition("::")
            prompt = reply["guidance"]["prompt"]
            yield from self._told(prompt, step, "workflow_get")
            for line in prompt.splitlines():
                yield from self._listed(line, activity, "workflow_get")

    def _told(self, prompt, step, tool):
        said = prompt.rpartition(f"Read the skill with {tool}: ")[2].removesuffix(".")
        yield "steps", step, self.read(tool, said)

    def _listed(self, line, activity, tool):
        found = re.search(rf"Skills of this activity: (.*)\. Read one with {tool}: (.*), and its name as skill\.", line)
        if found:
            texts = [self.read(tool, f"{found[2]}, skill {name}") for name in found[1].split(", ")]
            yield "activities", activity, "\n".join(texts)

    def read(self, tool, said):
        named = dict(part.split(" ", 1) for part in said.split(", "))
        told = self.call(tool, **named)
        return told["files"][0]["text"] if tool == "inspect_workflow" else told["skill"]["text"]

    def _navigation(self):
        for name in ("sorting", "ending"):
            activity = self.call("get_workflow_activity", workflow_id="team.borrower", activity_id=name)
            for step in activity["steps"]:
                yield "steps", step["id"], self.by_navigation(step["skill"])
            texts = [self.by_navigation(each) for each in activity["skills"]["supporting"]]
            yield "activities", name, "\n".join(texts)

    def by_navigation(self, name):
        return self.call.text("get_skill", workflow_id="team.borrower", skill_id=name)

    def _handed_over(self):
        for name in ("sorting", "ending"):
            token, activity = self.entered(name)
            for step in activity["steps"]:
                yield "steps", step["id"], self.by_step(token, step["id"])
            texts = [self.by_step(token, each) for each in activity["skills"]["supporting"]]
            yield "activities", name, "\n".join(texts)

    def entered(self, *names):
        """The token, and what the last of these activities says."""
        token = self.call("start_session", workflow_id="team.borrower", agent_id="a")["session_token"]
        for name in ("sorting", "ending")[: ("sorting", "ending").index(names[-1]) + 1]:
            manifest = [{"step_id": step, "output": "Did it."} for step in MEANT][:4] if name == "ending" else None
            said = self.call("next_activity", session_token=token, activity_id=name, step_manifest=manifest)
            token = said["session_token"]
        if self.dialect == "orchestrator":
            said = self.call("get_activity", session_token=token)
        return token, said

    def by_step(self, token, name):
        return self.call.text("get_skill", session_token=token, step_id=name)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_skill_that_a_step_applies_is_read_as_the_reply_says(desk, dialect):
    found = Reader(dialect, desk.agent).of_steps()

    assert list(found["steps"]) == list(MEANT)
    for step, (heading, _, _) in MEANT.items():
        assert heading in found["steps"][step], step
    assert [heading for heading in ("# Lender sift", "# Lender tidy") if heading in found["activities"]["sorting"]] == [
        "# Lender sift",
        "# Lender tidy",
    ]
    assert "# Borrower" not in found["activities"]["sorting"]
    assert "WORKERS ARE QUIET." in found["activities"]["ending"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_rules_of_a_folder_and_of_a_group_are_told_with_each_technique_of_them(desk, dialect):
    found = Reader(dialect, desk.agent).of_steps()["steps"]

    assert {step: {rule for rule in RULES if rule in text} for step, text in found.items()} == {
        step: set(rules) for step, (_, rules, _) in MEANT.items()
    }


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_a_technique_inherits_is_named_as_it_can_be_read(desk, dialect):
    reader = Reader(dialect, desk.agent)
    found = reader.of_steps()["steps"]
    token = reader.entered("ending")[0] if dialect in {"session", "orchestrator"} else ""

    def read(text):
        """Each that the reply of a technique says to be inherited."""
        if dialect in {"session", "navigation"}:
            for name in re.search(r'"inherits": ?\[(.*?)\]', text, re.DOTALL)[1].replace('"', "").split(","):
                by_step = dialect == "session"
                yield reader.by_step(token, name.strip()) if by_step else reader.by_navigation(name.strip())
            return
        names, said = re.search(r"\[It inherits (.*?)\. Read what else they say with (.*)\.\]", text).groups()
        for name in names.split(", "):
            if dialect == "orchestrator":
                assert said == "get_skill, and the name as step_id"
                yield reader.by_step(token, name)
            else:
                tool, _, place = said.partition(": ")
                yield reader.read(tool, place.replace("and the name as skill", f"skill {name}"))

    for step, (_, _, words) in MEANT.items():
        told = list(read(found[step]))
        assert [each in text for each, text in zip(words, told, strict=True)] == [True] * len(words), (step, told)


def test_addresses_and_completions_name_each_skill_as_it_is_read(desk):
    def text_at(uri):
        return read_resource(actor=desk.agent, uri=uri)["contents"][0]["text"]

    listed = text_at("workrail://workflows/team.borrower")
    given = {"workflow": "team.borrower"}
    ref = {"type": "ref/resource", "uri": "workrail://workflows/{workflow}/skills/{skill}"}
    completed = complete(actor=desk.agent, ref=ref, name="skill", value="", given=given).values
    texts = {name: text_at(f"workrail://workflows/team.borrower/skills/{name}") for name in completed}
    tidy = texts["team.lender::bins::tidy"]

    assert [name for name in completed if f'"{name}"' not in listed] == []
    assert "# Lender sift" in texts["team.lender::sift"]
    assert "# Borrower sift" in texts["sift"]
    assert "# Lender weigh" in texts["team.lender::sorting::weigh"]
    assert "NEVER TIP A BIN." in tidy
    inherited = re.search(r"\[It inherits (.*?)\. Read", tidy)[1].split(", ")
    assert [text_at(uri).partition("\n\n")[2].partition("\n")[0] for uri in inherited] == [
        "All of the lender.",
        "Bins of the lender.",
    ]


@pytest.mark.parametrize("gone", ["changed", "retired"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_rules_that_hold_for_what_was_lent_are_those_of_the_day_it_was_lent(desk, dialect, gone):
    if gone == "changed":
        files = {path: text.replace(b"DRY", b"WET").replace(b"NEVER", b"ALWAYS") for path, text in LENDER.items()}
        revised(desk, "team.lender", files, 2)
    else:
        publishing.retire_workflow(actor=desk.person, workflow_id="team.lender", now=NOW)

    found = Reader(dialect, desk.agent).of_steps()["steps"]

    assert {step for step, text in found.items() if "KEEP THE LENDER DRY." in text} == {
        "sort-it",
        "only-there",
        "grouped",
    }
    assert "NEVER TIP A BIN." in found["only-there"]
    assert [word for word in ("WET", "ALWAYS", "_not_published", "not published") if word in str(found)] == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_rules_that_nobody_can_read_are_said_to_be_missing(transactional_db, monkeypatch, dialect):
    """Of a program that an earlier compiler made, which kept what steps name and nothing that this inherits."""
    monkeypatch.setattr(skills, "inherits", lambda _held: [])
    desk = make_desk()
    publish_folder(desk, LENDER, "team.lender")
    publish_folder(desk, BORROWER, "team.borrower")
    publishing.retire_workflow(actor=desk.person, workflow_id="team.lender", now=NOW)

    found = Reader(dialect, desk.agent).of_steps()["steps"]

    assert {step for step, text in found.items() if "team.lender/TECHNIQUE" in text and "not" in text} == {
        "sort-it",
        "only-there",
        "grouped",
    }
    assert "# Lender sift" in found["sort-it"]
    assert '"inherits": ["' not in found["sort-it"].replace("\n", "").replace("    ", "")


def test_what_is_told_of_a_technique_is_what_its_author_wrote_before_what_it_inherits(desk):
    told = caller("rail", desk.agent)("inspect_workflow", workflowId="team.borrower", part="skill", skill="bins::empty")

    assert told["files"][0]["text"].startswith("# Borrower empty\n\nDaily.\n\n## Rules of TECHNIQUE\n\n### clean\n")


def test_a_skill_that_is_not_there_is_refused_with_names_that_can_be_read(desk):
    call = caller("rail", desk.agent)
    asked = {"workflowId": "team.borrower", "part": "skill"}

    said = call.refused("inspect_workflow", **asked, skill="nowhere")["details"]["suggestion"]
    names = re.search(r"It has: (.*?)\. If a run", said)[1].split(", ")

    texts = {name: call("inspect_workflow", **asked, skill=name)["files"][0]["text"] for name in names}
    assert ("# Borrower sift" in texts["sift"], "# Lender sift" in texts["team.lender::sift"]) == (True, True)


def test_a_run_reads_what_its_own_program_inherits(desk):
    call = caller("rail", desk.agent)
    begun = call("start_workflow", workflowId="team.borrower", goal="Sort")
    asked = {"workflowId": "team.borrower", "part": "skill", "workflowHash": begun["workflow"]["workflowHash"]}

    text = call("inspect_workflow", **asked, skill="bins::empty")["files"][0]["text"]

    assert text.endswith(
        f"workflowId team.borrower, workflowHash {asked['workflowHash']}, part skill, and the name as skill.]\n"
    )
    assert "Bins of the borrower." in call("inspect_workflow", **asked, skill="bins")["files"][0]["text"]


LED = {
    "workflow.yaml": b"""
id: team.led
version: 1.0.0
title: Led
initialActivity: work
techniques: {workflow: [hive-lead, "conduct::leader"]}
""",
    "activities/01-work.yaml": b"""
id: work
version: 1.0.0
name: Work
steps:
  - {kind: technique, id: do, technique: sift}
  - {kind: technique, id: then, technique: sift}
""",
    "techniques/sift.md": b"# Sift\n\nBy weight.\n",
    "techniques/hive-lead.md": b"# Hive lead\n\nLEAD THE HIVE.\n",
    "techniques/conduct.md": b"# Conduct\n\n## Rules\n\n### leader-calm\n\nSTAY CALM.\n",
}
LEADING = {"hive-lead": "LEAD THE HIVE.", "conduct::leader": "STAY CALM."}


@pytest.fixture
def led():
    made = make_desk()
    publish_folder(made, LED, "team.led")
    return made


@pytest.mark.parametrize("dialect", ["session", "orchestrator"])
def test_whoever_leads_a_session_is_told_the_techniques_of_its_leader(led, dialect):
    call = caller(dialect, led.agent)
    token = call("start_session", workflow_id="team.led", agent_id="a")["session_token"]

    told = call.raw("get_skills", session_token=token)

    assert [words for words in LEADING.values() if words not in text_of(told)] == []
    assert set(LEADING) <= set(told["structuredContent"]["skills"])
    for name, words in LEADING.items():
        assert words in call.text("get_skill", session_token=token, step_id=name)
    begun = call.raw("start_session", workflow_id="team.led", agent_id="a")
    told = [call.raw("get_workflow", session_token=token, summary=summary) for summary in (True, False)]
    for about in (begun, *told):
        named = about["structuredContent"]["leading_skills"]
        assert named["ids"] == list(LEADING)
        assert "hive-lead" in text_of(about)
        assert set(LEADING) <= set(call(named["next_action"]["tool"], **named["next_action"]["parameters"])["skills"])


@pytest.mark.parametrize("tool", ["nav_start", "nav_situation", "nav_action"])
def test_navigation_names_the_techniques_of_the_leader_to_whoever_begins_or_comes_back(led, tool):
    call = caller("navigation", led.agent)
    told = call.raw("nav_start", workflow_id="team.led")
    if tool == "nav_situation":
        told = call.raw("nav_situation", state=told["structuredContent"]["state"])
    if tool == "nav_action":
        state = told["structuredContent"]["state"]
        assert "hive-lead" not in text_of(call.raw("nav_action", state=state, action="complete_step", step_id="do"))
        return
    named = told["structuredContent"]["leadingSkills"]
    assert named["ids"] == list(LEADING)
    assert "hive-lead" in text_of(told)
    first = named["next_action"]
    for name, words in LEADING.items():
        assert words in str(call(first["tool"], **{**first["parameters"], "skill_id": name}))


def read_by_name(dialect, desk, workflow_id, name, *, activity):
    """A skill by the name that a reply gives, where a run stands in the activity if it is read there."""
    call = caller(dialect, desk.agent)
    match dialect:
        case "rail":
            return call("inspect_workflow", workflowId=workflow_id, part="skill", skill=name)["files"][0]["text"]
        case "lookup":
            return call("workflow_get", id=workflow_id, skill=name)["skill"]["text"]
        case "navigation":
            return call.text("get_skill", workflow_id=workflow_id, skill_id=name)
    token = call("start_session", workflow_id=workflow_id, agent_id="a")["session_token"]
    token = call("next_activity", session_token=token, activity_id=activity)["session_token"]
    return call.text("get_skill", session_token=token, step_id=name)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("of", ["its own", "meta's", "a lender's"])
def test_some_rules_of_a_technique_hold_with_what_that_technique_inherits(dialect, of):
    """Asked for as `conduct::worker`, of the workflow itself, of the one that serves all, or of another one."""
    made = make_desk()
    kept = {
        "techniques/conduct.md": b"# Conduct\n\n## Rules\n\n### worker-quiet\n\nWORKERS ARE QUIET.\n\n### leader-calm\n\nSTAY CALM.\n",
        "techniques/TECHNIQUE.md": b"## Capability\n\nAll.\n\n## Rules\n\n### dry\n\nKEEP IT DRY.\n",
    }
    owner = {"its own": "team.asking", "meta's": "team.meta", "a lender's": "team.keeper"}[of]
    if of != "its own":
        about = f"id: {owner}\nversion: 1.0.0\ntitle: Keeper\n".encode()
        lone = b"id: lone\nversion: 1.0.0\nname: Lone\nsteps: [{kind: action, id: do}]\n"
        publish_folder(made, {"workflow.yaml": about, "activities/01-lone.yaml": lone, **kept}, owner)
    named = f"{owner}::conduct::worker" if of == "a lender's" else "conduct::worker"
    asking = {
        "workflow.yaml": b"id: team.asking\nversion: 1.0.0\ntitle: Asking\ninitialActivity: work\n",
        "activities/01-work.yaml": b"id: work\nversion: 1.0.0\nname: Work\nsteps: [{kind: technique, id: do, technique: '"
        + named.encode()
        + b"'}]\n",
    }
    publish_folder(made, asking | (kept if of == "its own" else {}), "team.asking")

    text = read_by_name(dialect, made, "team.asking", named, activity="work")

    assert "WORKERS ARE QUIET." in text
    assert "STAY CALM." not in text
    assert text.count("KEEP IT DRY.") == 1


@pytest.mark.parametrize("tool", ["start_workflow", "rehydrate", "inspect_workflow"])
def test_the_rail_names_the_techniques_of_the_leader_with_the_call_that_reads_them(led, tool):
    call = caller("rail", led.agent)
    if tool == "inspect_workflow":
        told = call.raw("inspect_workflow", workflowId="team.led", part="metadata")
        assert told["structuredContent"]["skills"] == list(LEADING)
        assert "hive-lead" in text_of(told)
    else:
        told = call.raw("start_workflow", workflowId="team.led", goal="Lead")
        begun = told["structuredContent"]
        if tool == "rehydrate":
            told = call.raw("continue_workflow", stateToken=begun["stateToken"])
        guidance = told["structuredContent"]["pending"]["workflowGuidance"][-1]
        assert guidance in text_of(told)
        assert guidance == (
            "Skills of whoever leads this workflow: hive-lead, conduct::leader. Read one with inspect_workflow: "
            "workflowId team.led, part skill, and its name as skill."
        )
        onward = call("continue_workflow", **begun["nextCall"]["params"] | {"output": {"notesMarkdown": "Done."}})
        assert "hive-lead" not in str(onward)
    for name, words in LEADING.items():
        read = call("inspect_workflow", workflowId="team.led", part="skill", skill=name)
        assert words in read["files"][0]["text"]


@pytest.mark.parametrize("mode", ["full", "preview", "metadata", "next"])
def test_a_client_that_looks_up_is_told_the_techniques_of_the_leader(led, mode):
    call = caller("lookup", led.agent)
    if mode == "next":
        first = call("workflow_next", workflowId="team.led", completedSteps=[])
        said = first["guidance"]["prompt"].partition("\n\n")[0]
        later = call("workflow_next", workflowId="team.led", completedSteps=[first["step"]["id"]])
        assert "hive-lead" not in str(later)
    else:
        said = call("workflow_get", id="team.led", mode=mode)["metaGuidance"][-1]

    assert said == (
        "Skills of whoever leads this workflow: hive-lead, conduct::leader. Read one with workflow_get: id team.led, "
        "and its name as skill."
    )
    for name, words in LEADING.items():
        assert words in call("workflow_get", id="team.led", skill=name)["skill"]["text"]


@pytest.mark.parametrize("dialect", ["session", "orchestrator"])
def test_rules_that_several_skills_of_a_reply_inherit_stand_there_once(dialect):
    made = make_desk()
    inherited = {
        "techniques/TECHNIQUE.md": b"## Rules\n\n### all\n\nHOLDS FOR ALL.\n",
        "techniques/second-lead.md": b"# Second lead\n\nLEAD AS WELL.\n",
    }
    about = LED["workflow.yaml"].replace(b"hive-lead", b"hive-lead, second-lead")
    publish_folder(made, {**LED, **inherited, "workflow.yaml": about}, "team.led")
    call = caller(dialect, made.agent)
    token = call("start_session", workflow_id="team.led", agent_id="a")["session_token"]

    told = call.raw("get_skills", session_token=token)
    alone = call.text("get_skill", session_token=token, step_id="second-lead")

    skills = told["structuredContent"]["skills"]
    assert text_of(told).count("HOLDS FOR ALL.") == alone.count("HOLDS FOR ALL.") == 1
    assert [skills[name]["inherits"] for name in ("hive-lead", "second-lead")] == [["team.led/TECHNIQUE"]] * 2
    assert "HOLDS FOR ALL." in call.text("get_skill", session_token=token, step_id="team.led/TECHNIQUE")


LINKS = b"# Lender sift\n\nBy weight, see [the bench](../resources/bench.md).\n\n## Resources\n\n- [the bench](../resources/bench.md)\n"


def test_the_guides_of_a_lent_skill_are_named_as_they_are_read(transactional_db):
    """The borrower has one of the same name, which the bare name would read."""
    desk = make_desk()
    lender = LENDER | {"techniques/sift.md": LINKS, "resources/bench.md": b"# Bench of the lender\n\nTall.\n"}
    publish_folder(desk, lender, "team.lender")
    publish_folder(desk, BORROWER | {"resources/bench.md": b"# Bench of the borrower\n\nLow.\n"}, "team.borrower")
    address = "workrail://workflows/team.lender/resources/bench"
    named = {"workflow_id": "team.borrower", "skill_id": "team.lender::sift"}
    rail = {"workflowId": "team.borrower", "part": "skill", "skill": "team.lender::sift"}

    navigation = caller("navigation", desk.agent)
    skill = navigation("get_skill", **named)
    guide = navigation("get_resource", **skill["linked_resources"][0])

    assert address in text_of(caller("rail", desk.agent).raw("inspect_workflow", **rail))
    assert address in str(caller("lookup", desk.agent)("workflow_get", id="team.borrower", skill="team.lender::sift"))
    assert address in str(
        read_resource(actor=desk.agent, uri="workrail://workflows/team.borrower/skills/team.lender%3A%3Asift")
    )
    assert "Bench of the lender" in str(guide)
    assert "Bench of the lender" in str(read_resource(actor=desk.agent, uri=address))


def test_the_guides_of_a_skill_that_a_sibling_lends_are_those_of_the_sibling(transactional_db):
    """Documents of one namespace name each other barely. A workflow that is found by the bare name elsewhere has a guide of that name too."""
    desk = make_desk()
    lender = LENDER | {"techniques/sift.md": LINKS, "resources/bench.md": b"# Bench of the sibling\n\nTall.\n"}
    named = {path: text.replace(b"team.lender", b"kiln.lender") for path, text in lender.items()}
    publish_folder(desk, named, "kiln.lender")
    borrower = {path: text.replace(b"team.lender", b"lender") for path, text in BORROWER.items()}
    borrower = {path: text.replace(b"team.borrower", b"kiln.borrower") for path, text in borrower.items()}
    publish_folder(desk, borrower, "kiln.borrower")
    elsewhere = {**lender, "resources/bench.md": b"# Another bench\n\nLow.\n"}
    publish_folder(desk, elsewhere, "team.lender")
    extensions.set_alias(actor=desk.person, alias="lender", workflow_id="team.lender", now=NOW)
    address = "workrail://workflows/kiln.lender/resources/bench"
    navigation = caller("navigation", desk.agent)
    state = navigation("nav_start", workflow_id="kiln.borrower")["state"]
    revised(desk, "kiln.lender", named | {"resources/bench.md": b"# Bench of the sibling, later\n"}, 2)

    for named_state in ({}, {"state": state}):
        skill = navigation("get_skill", workflow_id="kiln.borrower", skill_id="lender::sift", **named_state)
        guide = navigation("get_resource", **skill["linked_resources"][0], **named_state)
        assert "Bench of the sibling" in str(guide)
        assert ("later" in str(guide)) == (not named_state)
        alone = navigation("get_skill", workflow_id="kiln.lender", skill_id="sift", **named_state)
        assert "Lender sift" in str(alone)
    rail = {"workflowId": "kiln.borrower", "part": "skill", "skill": "lender::sift"}
    assert address in text_of(caller("rail", desk.agent).raw("inspect_workflow", **rail))
    assert address in str(caller("lookup", desk.agent)("workflow_get", id="kiln.borrower", skill="lender::sift"))
    assert "Bench of the sibling" in str(read_resource(actor=desk.agent, uri=address))
