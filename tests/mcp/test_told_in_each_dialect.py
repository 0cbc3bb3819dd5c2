"""What an agent has to know of a step is told in every dialect, and before the step is done: not by the refusal that follows."""

import json

import pytest

from sessions_app.models import CheckpointRequest
from tests.activity_folders import activity, checkpoint, equals, folder, skill, step as folder_step, workflow as about
from tests.checkpoint_cast import answer, publish_folder
from tests.handover_play import caller, stopped_clock, text_of
from tests.run_cast import make_desk, notes_free, published
from tests.step_documents import loop, step
from tests.workflow_cast import NOW, publish
from workflows_app.engine.source import Source, SourceFormat
from workflows_app.selectors.handed_out import HandedOut, read_attachment
from workflows_app.services import publishing, workflows

pytestmark = pytest.mark.django_db(transaction=True)

READY = {
    "id": "ready",
    "purpose": "Whether it can be shipped",
    "dimensions": [
        {"id": "proof", "purpose": "What was seen of it", "levels": ["seen", "told"]},
        {"id": "cost", "purpose": "What it takes", "levels": ["little", "much"], "required": False},
    ],
}
LINES = [{"type": "regex", "pattern": "^Seen: ", "flags": "m", "message": "Write what you saw after Seen."}]
CONTROL = "wr.contracts.loop_control"
DECIDES = {"kind": "artifact_contract", "contractRef": CONTROL, "loopId": "rounds"}
VERDICT = {"contractRef": "wr.contracts.review_verdict"}
SYNTHESIS = {"prompt": "Bring it together.", "outputContract": VERDICT}
DIALECTS = ["rail", "navigation", "session", "orchestrator", "lookup"]


def parallel(step_id):
    delegations = [{"workflowId": "wr.code-review"}]
    return step(step_id, type="parallel", parallelDelegations=delegations, synthesis=SYNTHESIS)


# What the workflow has, and what of it has to be told.
CASES = {
    "assessment": (
        {"steps": [step("ship", assessmentRefs=["ready"])], "assessments": [READY]},
        ["Whether it can be shipped", "What was seen of it", "seen | told", "which may be left out"],
    ),
    "criteria": ({"steps": [step("ship", validationCriteria=LINES)]}, ["Write what you saw after Seen."]),
    "contract": ({"steps": [step("ship", outputContract=VERDICT)]}, ["wr.review_verdict", "confidence", "For example"]),
    "optional contract": (
        {"steps": [step("ship", outputContract={**VERDICT, "required": False})]},
        ["wr.review_verdict", "if it applies"],
    ),
    "synthesis": ({"steps": [parallel("ship")]}, ["wr.review_verdict", "confidence"]),
    "within a loop": (
        {
            "steps": [
                loop("rounds", [step("ship", outputContract={"contractRef": CONTROL})], conditionSource=DECIDES),
            ]
        },
        ["wr.loop_control", '"decision', "For example"],
    ),
}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("case", CASES)
def test_what_a_step_demands_is_told_before_it_is_done(dialect, case):
    fields, wanted = CASES[case]
    desk = make_desk()
    published(desk, *fields["steps"], assessments=fields.get("assessments", []))

    told = read(dialect, caller(dialect, desk.agent)).replace('\\"', '"')

    assert [words for words in wanted if words.lower() not in told.lower()] == []


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("within", [False, True])
def test_how_a_step_is_gone_about_is_told_with_the_functions_that_it_refers_to(dialect, within):
    desk = make_desk()
    functions = [
        {"name": "makePlan", "definition": "Write the plan for {{team}} into PLAN.md."},
        {"name": "notReferred", "definition": "Nobody asks for this."},
    ]
    ship = step(
        "ship",
        prompt="Call makePlan().",
        functionReferences=["makePlan()"],
        agentRole="You plan for others.",
        guidance=["Ask twice."],
    )
    steps = [loop("rounds", [ship], type="for", count=2)] if within else [ship]
    published(desk, *steps, functionDefinitions=functions)

    told = read(dialect, caller(dialect, desk.agent))

    for words in ("Write the plan for", "makePlan", "You plan for others.", "Ask twice."):
        assert words in told
    assert "Nobody asks" not in told
    assert ("[unset: team]" in told) == (dialect in {"rail", "lookup"})


def read(dialect, call):
    """All that an agent reads before it does the first step."""
    match dialect:
        case "rail":
            return call.text("start_workflow", workflowId="team.sample")
        case "lookup":
            return call.text("workflow_next", workflowId="team.sample", completedSteps=[])
        case "navigation":
            return call.text("get_workflow_activity", workflow_id="team.sample", activity_id="main")
        case _:
            return read_handed_over(dialect, call)


def read_handed_over(dialect, call):
    token = call("start_session", workflow_id="team.sample", agent_id="a")["session_token"]
    entered = call.raw("next_activity", session_token=token, activity_id="main")
    if dialect == "session":
        return text_of(entered)
    return call.text("get_activity", session_token=entered["structuredContent"]["session_token"])


@pytest.mark.parametrize("dialect", ["session", "orchestrator"])
def test_a_step_that_is_read_as_a_skill_tells_what_it_demands(dialect):
    desk = make_desk()
    published(desk, step("ship", validationCriteria=LINES))
    call = caller(dialect, desk.agent)
    token = call("start_session", workflow_id="team.sample", agent_id="a")["session_token"]
    token = call("next_activity", session_token=token, activity_id="main")["session_token"]

    assert "Write what you saw after Seen." in call.text("get_skill", session_token=token, step_id="ship")


@pytest.mark.parametrize("dialect", ["navigation", "session", "orchestrator"])
def test_what_a_workflow_says_before_its_first_step_is_told_where_it_is_read(dialect):
    desk = make_desk()
    handbook = {
        "id": "book",
        "title": "Handbook",
        "source": "docs/book.md",
        "purpose": "The rules",
        "authoritative": True,
    }
    published(
        desk,
        step("ship"),
        preconditions=["The branch is green."],
        clarificationPrompts=["Which release is it?"],
        references=[handbook],
    )
    call = caller(dialect, desk.agent)

    if dialect == "navigation":
        told = call.text("get_workflow", workflow_id="team.sample")
    else:
        token = call("start_session", workflow_id="team.sample", agent_id="a")["session_token"]
        told = call.text("get_workflow", session_token=token)

    for words in ("The branch is green.", "Which release is it?", "docs/book.md"):
        assert words in told


def test_a_definition_tells_by_which_names_a_loop_speaks_of_its_rounds_and_under_which_condition_a_person_agrees():
    desk = make_desk()
    risky = {"kind": "human_approval", "condition": {"var": "risk", "equals": "high"}}
    rounds = {"iterationVar": "round", "indexVar": "at", "type": "forEach", "items": "parts", "itemVar": "part"}
    inner = step(
        "cut", prompt="{{round}} {{at}} {{part}}", requireConfirmation=risky, askForFiles=True, modelTier="heavy"
    )
    published(desk, loop("each", [inner], **rounds))
    told = caller("navigation", desk.agent)("get_workflow_activity", workflow_id="team.sample", activity_id="main")

    (each,) = told["loops"]
    assert (each["variable"], each["iterationVariable"], each["indexVariable"]) == ("part", "round", "at")
    (cut,) = each["steps"]
    assert cut["confirmationCondition"]["variable"] == "risk"
    assert (cut["askForFiles"], cut["modelTier"]) == (True, "heavy")
    assert json.dumps(told)


# Rounds


LISTS = {"ships": [{"name": "Vega", "legs": ["out", "back"]}, {"name": "Mira", "legs": ["out"]}]}
NESTED = loop(
    "fleet",
    [loop("legs", [notes_free("sail")], type="forEach", items="currentItem.legs", maxIterations=3)],
    type="forEach",
    items="ships",
    maxIterations=2,
)
ROUNDS = [
    {"legs": (1, 3, 2, "out"), "fleet": (1, 2, 2, "Vega")},
    {"legs": (2, 3, 2, "back"), "fleet": (1, 2, 2, "Vega")},
    {"legs": (1, 3, 1, "out"), "fleet": (2, 2, 2, "Mira")},
]


def rounds_in(said):
    """Of each loop around: the round, the limit, how many there are, and what it is about."""
    if said is None:
        return {}
    number = said["round"] if "round" in said else said["iteration"]
    about = (
        said["item"] if isinstance(said["item"], str) and said["item"][0] != "{" else json.loads(said["item"])["name"]
    )
    return {said["id"]: (number, said["atMost"], said["total"], about), **rounds_in(said.get("within"))}


def test_the_rail_tells_the_round_of_every_loop_around_a_step_in_both_forms():
    desk = make_desk()
    published(desk, NESTED)
    call = caller("rail", desk.agent)
    result = call.raw("start_workflow", workflowId="team.sample", context=LISTS)
    seen, texts = [], []
    while (reply := result["structuredContent"])["nextCall"]:
        seen.append(rounds_in(reply["pending"]["loop"]))
        texts.append(text_of(result))
        result = call.raw("continue_workflow", **reply["nextCall"]["params"])

    assert seen == ROUNDS
    assert "Round 2 of 2 in the loop legs, about: back" in texts[1]
    assert "Round 1 of 2 in the loop fleet" in texts[1]


def test_navigation_tells_the_same():
    desk = make_desk()
    published(desk, NESTED)
    call = caller("navigation", desk.agent)
    reply, seen = call("nav_start", workflow_id="team.sample", initial_variables=LISTS), []
    while not reply.get("complete"):
        (do,) = reply["availableActions"]["required"]
        if do["action"] == "complete_step":
            seen.append(rounds_in(reply["position"]["loop"]))
            what = {"step_id": do["step"]}
        else:
            what = {"loop_id": do["loop"]}
        reply = call("nav_action", state=reply["state"], action=do["action"], **what)

    assert seen == ROUNDS


def test_lookup_tells_the_same():
    desk = make_desk()
    published(desk, NESTED)
    call, done, seen = caller("lookup", desk.agent), [], []
    while not (reply := call("workflow_next", workflowId="team.sample", completedSteps=done, context=LISTS))[
        "isComplete"
    ]:
        seen.append(rounds_in(reply["guidance"]["loop"]))
        done.append(reply["step"]["id"])

    assert seen == ROUNDS


@pytest.mark.parametrize("dialect", ["session", "orchestrator"])
def test_a_refused_step_is_told_by_all_its_rounds(dialect):
    desk = make_desk()
    within = loop("legs", [step("sail", validationCriteria=LINES)], type="for", count=2, maxIterations=3)
    published(desk, loop("fleet", [within], type="for", count=2, maxIterations=4))
    call = caller(dialect, desk.agent)
    token = call("start_session", workflow_id="team.sample", agent_id="a")["session_token"]
    token = call("next_activity", session_token=token, activity_id="main")["session_token"]

    refused = call.refused("next_activity", session_token=token, activity_id="workflow-end", step_manifest=[])

    outer = {"id": "fleet", "round": 1, "atMost": 4, "total": 2}
    assert refused["details"]["loop"] == {"id": "legs", "round": 1, "atMost": 3, "total": 2, "within": outer}


# What an answer has set


FIXED = [{"id": "yes", "label": "Yes", "effect": {"setVariable": {"said": "{part.name} for {goal}"}}}]
MADE = {"action": "set", "target": "made", "value": "{part.name} made"}
SETS = folder(
    activity(
        "work",
        loops=[
            {
                "id": "each",
                "name": "Each",
                "type": "forEach",
                "variable": "part",
                "over": "parts",
                "steps": [
                    folder_step("cut", actions=[MADE], checkpoint="fine"),
                    folder_step("look", description="{{said}}, {{made}}"),
                ],
            }
        ],
        checkpoints=[checkpoint("fine", options=FIXED)],
    ),
    about=about(
        initialActivity="work",
        variables=[
            {"name": "goal", "type": "string", "defaultValue": "the roof"},
            {"name": "parts", "type": "array", "defaultValue": [{"name": "Beam"}]},
        ],
    ),
)


def test_what_an_answer_and_a_step_set_is_told_and_used_with_its_values_in_each_dialect_that_leads():
    desk = make_desk()
    publish_folder(desk, SETS)
    rail = caller("rail", desk.agent)
    with stopped_clock() as clock:
        reply = rail("start_workflow", workflowId="team.plan")
        for _ in range(2):
            clock.shift(5)
            params = reply["nextCall"]["params"]
            answers = [{**each, "optionId": "yes"} for each in params["output"].get("artifacts", ())]
            params["output"] = {"notesMarkdown": "Cut it.", "artifacts": answers}
            reply = rail("continue_workflow", **params)
    lookup = caller("lookup", desk.agent)
    context = {"fine": "yes"}
    done = ["work@0/each@0::cut", "work@0/each@0::fine"]

    assert reply["kind"] == "ok", reply["blockers"]
    assert reply["pending"]["prompt"] == "Beam for the roof, Beam made"
    told = lookup("workflow_next", workflowId="team.plan", completedSteps=done, context=context)
    assert told["step"]["prompt"] == "Beam for the roof, Beam made"


def test_navigation_tells_what_the_chosen_option_has_set():
    desk = make_desk()
    publish_folder(desk, SETS)
    call = caller("navigation", desk.agent)
    what = [
        {"action": "advance_loop", "loop_id": "each"},
        {"action": "complete_step", "step_id": "cut"},
        {"action": "respond_to_checkpoint", "checkpoint_id": "fine", "option_id": "yes"},
    ]
    with stopped_clock() as clock:
        reply = call("nav_start", workflow_id="team.plan")
        for each in what:
            clock.shift(5)
            reply = call("nav_action", state=reply["state"], **each)

    assert reply["effects"] == {"setVariable": {"said": "Beam for the roof"}}


@pytest.mark.parametrize("dialect", ["session", "orchestrator"])
def test_those_that_are_handed_over_tell_what_the_chosen_option_has_set(dialect):
    said = [{"id": "yes", "label": "Yes", "effect": {"setVariable": {"said": "On {goal}"}}}]
    files = folder(
        activity("work", steps=[folder_step("ask", checkpoint="sure")], checkpoints=[checkpoint("sure", options=said)]),
        about=about(initialActivity="work", variables=[{"name": "goal", "type": "string", "defaultValue": "the roof"}]),
    )
    desk = make_desk()
    publish_folder(desk, files)
    call = caller(dialect, desk.agent)
    with stopped_clock() as clock:
        token = call("start_session", workflow_id="team.plan", agent_id="a")["session_token"]
        token = call("next_activity", session_token=token, activity_id="work")["session_token"]
        if dialect == "orchestrator":
            token = call("yield_checkpoint", session_token=token, checkpoint_id="sure")["session_token"]
        clock.shift(5)
        which = {"checkpoint_id": "sure"} if dialect == "session" else {}
        answer = call("respond_checkpoint", session_token=token, option_id="yes", **which)

    assert answer["effect"] == {"setVariable": {"said": "On the roof"}}


def test_a_guide_that_is_longer_than_a_reply_comes_in_parts_that_make_the_whole_in_navigation_too():
    lines = [f"Line {number} of a long guide, ünd 日本.\n" for number in range(4_000)]
    long = "# Long\n\n" + "".join(lines)
    named = {
        "resources__01-long.md": long.encode(),
        "templates__02-form.md": long.encode(),
        "resources__02-short.md": b"# Short\n",
    }
    desk = make_desk()
    publish_folder(
        desk, folder(activity("work", steps=[folder_step("do")]), about=about(initialActivity="work"), **named)
    )
    call = caller("navigation", desk.agent)

    for tool, index in (("get_resource", "01"), ("get_template", "02")):
        parts, ask = [], {"workflow_id": "team.plan", "index": index}
        while ask:
            result = call.raw(tool, **ask)
            parts.append(result["structuredContent"]["content"])
            assert text_of(result).startswith(parts[-1])
            ask = result["structuredContent"].get("next_action", {}).get("parameters")
        assert "".join(parts) == long
        assert len(parts) > 2
        assert call.refused(tool, workflow_id="team.plan", index=f"{index}#part-99")["code"] == "NOT_FOUND"
    assert call.text("get_resource", workflow_id="team.plan", index="02") == "# Short\n"


LONG_SKILLS = {
    "skills__00-drawing.md": (
        "# Drawing\n\n" + "".join(f"Line {number}, ünd 日本.\n" for number in range(5_000))
    ).encode(),
    "skills__00-drawing.toon": skill("drawing", description="Read this with care. " * 6_000),
}


@pytest.mark.parametrize("dialect", ["navigation", "session", "orchestrator", "lookup"])
@pytest.mark.parametrize("path", LONG_SKILLS)
def test_a_skill_that_is_longer_than_a_reply_comes_in_parts_that_make_the_whole(dialect, path):
    desk = make_desk()
    files = folder(activity("work", steps=[folder_step("do", skill="drawing")]), **{path: LONG_SKILLS[path]})
    publish_folder(desk, files)
    call = caller(dialect, desk.agent)
    tool, named, asked = "get_skill", {}, {"step_id": "do"}
    if dialect in {"session", "orchestrator"}:
        named = {"session_token": call("start_session", workflow_id="team.plan")["session_token"]}
        call("next_activity", **named, activity_id="work")
    elif dialect == "navigation":
        asked = {"workflow_id": "team.plan", "skill_id": "drawing"}
    else:
        tool, asked = "workflow_get", {"id": "team.plan", "skill": "drawing"}
    parts, ask = [], asked

    while ask and len(parts) < 20:
        result = call.raw(tool, **{**named, **ask})
        value = result["structuredContent"]
        assert "_truncated" not in value
        said = value if dialect == "navigation" else value["skill"]
        parts.append(said.get("content", said.get("text")))
        assert dialect in {"lookup", "session"} or parts[-1].strip() in text_of(result)
        assert said["part"] == len(parts)
        ask = said.get("next_action", {}).get("parameters")

    assert len(parts) == said["parts"] > 2
    assert "".join(parts) == files[path.replace("__", "/")].decode()
    (key, reference) = list(asked.items())[-1]
    assert call.refused(tool, **{**named, **asked, key: f"{reference}#part-99"})["code"] == "NOT_FOUND"


LONG_LINES = "".join(f"Line {number}, ünd 日本.\n" for number in range(5_000))


@pytest.mark.parametrize("entered", [False, True])
@pytest.mark.parametrize("dialect", ["session", "orchestrator"])
def test_the_skills_of_a_workflow_are_told_to_their_end_however_long_they_are(dialect, entered):
    desk, names = make_desk(), ["leading", "beside", "third"]
    held = {f"skills__0{at}-{name}.md": f"# {name}\n\n{LONG_LINES}".encode() for at, name in enumerate(names)}
    skills = {"primary": "leading"} if dialect == "orchestrator" else names
    work = activity("work", steps=[folder_step("do", skill="beside")], skills={"primary": "third"})
    publish_folder(desk, folder(work, about=about(skills=skills, initialActivity="work"), **held))
    call = caller(dialect, desk.agent)
    token = {"session_token": call("start_session", workflow_id="team.plan")["session_token"]}
    if entered:
        call("next_activity", **token, activity_id="work")

    about_it = call.raw("get_workflow", **token)
    result = call.raw("get_skills", **token)
    assert "_truncated" not in {**about_it["structuredContent"], **result["structuredContent"]}
    if dialect == "orchestrator":
        assert about_it["structuredContent"]["primary_skill"]["next_action"]["tool"] == "get_skills"
        assert "get_skills" in text_of(about_it)
        assert "activities" in about_it["structuredContent"]
        assert "Line 1," in text_of(result)
    told = result["structuredContent"]
    left = told.get("omitted_skills", [])
    assert told.get("next_action", {}).get("parameters", {}).get("step_id") == (left[0] if left else None)
    firsts = [*told["skills"].values(), *(call("get_skill", **token, step_id=name)["skill"] for name in left)]
    read = ["".join(parts_from(call, token, first)) for first in firsts]

    assert sorted(read) == sorted(
        f"# {name}\n\n{LONG_LINES}" for name in (names if dialect == "session" else names[:1])
    )


def parts_from(call, token, said):
    """The texts of the parts that each other name, from the first one on."""
    for _ in range(20):
        yield said["text"]
        if "next_action" not in said:
            return
        onward = said["next_action"]
        assert onward["parameters"].keys() > token.keys()
        said = call(onward["tool"], **onward["parameters"])["skill"]


@pytest.mark.parametrize("skilled", [False, True])
@pytest.mark.parametrize("dialect", ["session", "orchestrator"])
def test_what_an_activity_that_is_longer_than_a_reply_leaves_out_is_told_by_the_call_that_it_names(dialect, skilled):
    desk = make_desk()
    words = "What is to be done here, ünd 日本. " * 150
    named = {"skill": "drawing"} if skilled else {}
    steps = [folder_step(f"step-{at}", description=f"{at}: {words}END-{at}", **named) for at in range(30)]
    again = {"id": "again", "name": "Again", "type": "while", "condition": equals("more", "yes")}
    inner = [folder_step("inner", description=f"{words}END-inner", **named)]
    held = {"skills__00-drawing.toon": skill("drawing", description="As this workflow draws.")}
    publish_folder(desk, folder(activity("work", steps=steps, loops=[{**again, "steps": inner}]), **held))
    call = caller(dialect, desk.agent)
    token = {"session_token": call("start_session", workflow_id="team.plan")["session_token"]}
    told = call("next_activity", **token, activity_id="work")
    if dialect == "orchestrator":
        told = call("get_activity", **token)

    assert told["summarized"] is True
    assert told["next_action"]["tool"] == "get_skill"
    for name in ("step-0", "step-29", "inner"):
        result = call.raw("get_skill", **token, step_id=name)
        assert f"END-{name.removeprefix('step-')}" in json.dumps(result["structuredContent"])
        assert dialect == "session" or f"END-{name.removeprefix('step-')}" in text_of(result)
        assert ("As this workflow draws." in text_of(result)) is skilled


@pytest.mark.parametrize("tool", ["get_workflow_activity", "get_activity"])
def test_an_activity_that_is_longer_than_a_reply_comes_in_parts_that_make_the_whole_in_navigation(tool):
    desk = make_desk()
    words = "What is to be done here, ünd 日本. " * 150
    steps = [folder_step(f"step-{number}", description=f"{number}: {words}") for number in range(30)]
    again = {"id": "again", "name": "Again", "type": "while", "condition": equals("more", "yes"), "steps": steps[:3]}
    long = activity("work", rules=["Be brief"], steps=steps, loops=[again], skills={"primary": "drawing"})
    files = folder(long, activity("short", steps=[folder_step("do")]), **{"skills__00-drawing.toon": skill("drawing")})
    publish_folder(desk, files)
    call = caller("navigation", desk.agent)
    named = {"workflow_id": "team.plan"} if tool == "get_workflow_activity" else {}
    parts, ask = [], {**named, "activity_id": "work"}

    while ask and len(parts) < 20:
        parts.append(call(tool, **ask))
        onward = parts[-1].get("next_action", {})
        ask = onward["parameters"] if onward.get("tool") == tool else None

    assert not any("_truncated" in part for part in parts)
    assert [(part["id"], part["part"], part["parts"]) for part in parts] == [
        ("work", number, len(parts)) for number in range(1, len(parts) + 1)
    ]
    assert [item["description"] for part in parts for item in part.get("steps", ())] == [
        each["description"] for each in steps
    ]
    assert [item["id"] for part in parts for item in part.get("loops", ())] == ["again"]
    assert [part.get("rules") for part in parts] == [["Be brief"], *[None] * (len(parts) - 1)]
    assert ("skill_id" in parts[-1].get("next_action", {}).get("parameters", {})) == (tool == "get_activity")
    assert call.refused(tool, **{**named, "activity_id": "work#part-99"})["code"] == "NOT_FOUND"
    assert "part" not in call(tool, **{**named, "activity_id": "short"})


def held_long(word):
    """A folder of which every text is longer than a reply, and another with another word."""
    long = "# Long\n\n" + "".join(f"Line {number}: {word}, ünd 日本.\n" for number in range(5_000))
    steps = [folder_step(f"step-{number}", description=f"{number}: {word} " * 600) for number in range(30)]
    held = {
        "resources__01-long.md": long.encode(),
        "templates__02-form.md": long.encode(),
        "skills__00-drawing.md": long.encode(),
    }
    return folder(activity("far", steps=steps), about=about(id="team.far"), **held)


# What is read as it is published, by whom, and what names it.
PUBLISHED_LONG = [
    ("navigation", "get_resource", {"workflow_id": "team.far", "index": "01"}),
    ("navigation", "get_template", {"workflow_id": "team.far", "index": "02"}),
    ("navigation", "get_skill", {"skill_id": "drawing"}),
    ("navigation", "get_skill", {"workflow_id": "team.far", "skill_id": "drawing"}),
    ("navigation", "get_workflow_activity", {"workflow_id": "team.far", "activity_id": "far"}),
    ("navigation", "get_activity", {"activity_id": "far"}),
    ("session", "get_resource", {"resource_index": "team.far/01"}),
    ("orchestrator", "get_resource", {"resource_id": "team.far/01"}),
    ("lookup", "workflow_get", {"id": "team.far", "skill": "drawing"}),
]


@pytest.mark.parametrize(("dialect", "tool", "asked"), PUBLISHED_LONG)
def test_parts_of_two_revisions_are_not_read_as_one_document(dialect, tool, asked):
    desk = make_desk()
    publish_folder(desk, held_long("first"), "team.far")
    call, named = caller(dialect, desk.agent), {}
    if dialect in {"session", "orchestrator"}:
        # Its own is read as its run has it; another workflow's as it is published.
        publish_folder(desk, folder())
        named = {"session_token": call("start_session", workflow_id="team.plan")["session_token"]}

    def following(result):
        """The call that the reply names."""
        value = result["structuredContent"]
        said = value if dialect in {"navigation", "orchestrator"} else value.get("skill", value.get("resource"))
        return {**named, **said["next_action"]["parameters"]}

    second = following(call.raw(tool, **named, **asked))
    read = text_of(call.raw(tool, **second))
    revised(desk, "team.far", held_long("second"), 2)
    refused = call.refused(tool, **second)
    again = call.raw(tool, **named, **asked)

    assert "first" in read
    assert refused["code"] == "REPRESENTATION_CHANGED"
    key = list(asked)[-1]
    assert refused["details"]["suggestion"] == f"Ask for {asked[key]}, from its beginning."
    assert "first" not in text_of(again)
    assert "second" in text_of(call.raw(tool, **following(again)))
    revised(desk, "team.far", {**held_long("second"), "resources/09-other.md": b"# Other\n"}, 3)
    assert "second" in text_of(call.raw(tool, **following(again)))


def revised(desk, workflow_id, files, number):
    source = Source(format=SourceFormat.ACTIVITY_FOLDER, files=files)
    workflows.revise_workflow(
        actor=desk.person, workflow_id=workflow_id, source=source, base_revision=number - 1, message="", now=NOW
    )
    publish(desk.person, workflow_id, number)


def drawn(*skills, words=""):
    """A folder whose step names the skill `drawing`, with these skills."""
    held = {f"skills__0{at}-{name}.md": f"# {name}\n\n{words}\n".encode() for at, name in enumerate(skills)}
    work = activity("work", steps=[folder_step("do", skill="drawing"), folder_step("then", skill="drawing")])
    return folder(work, about=about(initialActivity="work"), **held)


def skill_as_told(call, prompt):
    """What the call brings that a prompt of the rail says word for word."""
    said = prompt.rpartition("Read the skill with inspect_workflow: ")[2].removesuffix(".")
    named = dict(part.split(" ") for part in said.split(", "))
    return call("inspect_workflow", **named)["files"][0]["text"]


def test_a_run_reads_the_skills_of_the_program_that_it_goes_on_with():
    desk = make_desk()
    publish_folder(desk, drawn("drawing", words="As it was."))
    call = caller("rail", desk.agent)
    begun = call("start_workflow", workflowId="team.plan", goal="Draw it")
    first = skill_as_told(call, begun["pending"]["prompt"])

    revised(desk, "team.plan", drawn("drawing", words="As it is now."), 2)
    back = call("continue_workflow", stateToken=begun["stateToken"])
    assert "As it was." in first
    assert "As it was." in skill_as_told(call, back["pending"]["prompt"])
    onward = call("continue_workflow", **back["nextCall"]["params"] | {"output": {"notesMarkdown": "Drawn."}})
    assert "As it was." in skill_as_told(call, onward["pending"]["prompt"])
    assert (
        "As it is now."
        in call("inspect_workflow", workflowId="team.plan", part="skill", skill="drawing")["files"][0]["text"]
    )


@pytest.mark.parametrize("gone", ["renamed", "retired"])
def test_a_skill_that_is_no_longer_published_is_read_as_the_refusal_says(gone):
    desk = make_desk()
    publish_folder(desk, drawn("drawing", words="As it was."))
    call = caller("rail", desk.agent)
    begun = call("start_workflow", workflowId="team.plan", goal="Draw it")
    if gone == "renamed":
        files = drawn("other")
        revised(
            desk,
            "team.plan",
            {**files, "activities/01-work.toon": files["activities/01-work.toon"].replace(b"drawing", b"other")},
            2,
        )
    else:
        publishing.retire_workflow(actor=desk.person, workflow_id="team.plan", now=NOW)

    asked = {"workflowId": "team.plan", "part": "skill", "skill": "drawing"}
    refused = call.refused("inspect_workflow", **asked)

    assert "workflowHash" in refused["details"]["suggestion"]
    told = call("inspect_workflow", **asked, workflowHash=begun["workflow"]["workflowHash"])
    assert "As it was." in told["files"][0]["text"]
    other = {**asked, "skill": "nowhere", "workflowHash": begun["workflow"]["workflowHash"]}
    assert "drawing" in call.refused("inspect_workflow", **other)["details"]["suggestion"]
    stranger = caller("rail", desk.stranger)
    assert stranger.refused("inspect_workflow", **{**other, "skill": "drawing"})["code"] == "NOT_FOUND"


@pytest.mark.parametrize("gone", ["changed", "retired"])
@pytest.mark.parametrize("dialect", ["rail", "navigation", "session", "orchestrator"])
def test_whoever_comes_back_is_told_that_the_workflow_is_another_by_now(dialect, gone):
    desk = make_desk()
    publish_folder(desk, drawn("drawing", words="As it was."))
    call = caller(dialect, desk.agent)
    begin, back, token = {
        "rail": ("start_workflow", "continue_workflow", "stateToken"),
        "navigation": ("nav_start", "nav_situation", "state"),
        "session": ("start_session", "get_workflow", "session_token"),
        "orchestrator": ("start_session", "get_workflow_status", "session_token"),
    }[dialect]
    begun = call(begin, **{"workflowId" if dialect == "rail" else "workflow_id": "team.plan"})
    if gone == "changed":
        revised(desk, "team.plan", drawn("drawing", words="As it is now."), 2)
    else:
        publishing.retire_workflow(actor=desk.person, workflow_id="team.plan", now=NOW)

    told = call(back, **{token: begun[token]})

    words = "was changed since" if gone == "changed" else "is no longer published"
    assert words in json.dumps(told["warnings"])


def asks_a_person(*, approves):
    """The step is approved by a person, or there is a question for one before it."""
    if approves:
        return {"steps": [notes_free("sure", prompt="Ship it.", requireConfirmation={"kind": "human_approval"})]}
    work = activity("work", steps=[folder_step("do", checkpoint="sure")], checkpoints=[checkpoint("sure", human=True)])
    return folder(work, about=about(initialActivity="work"))


@pytest.mark.parametrize("approves", [False, True])
def test_who_reads_by_navigation_what_waits_is_told_where_a_person_answers_it(approves):
    desk = make_desk()
    asked = asks_a_person(approves=approves)
    workflow_id = published(desk, *asked["steps"]) if approves else publish_folder(desk, asked)
    call = caller("navigation", desk.agent)
    value = call("nav_start", workflow_id=workflow_id)
    if approves:
        assert call("nav_checkpoint", state=value["state"])["active"] is False
        value = call("nav_action", state=value["state"], action="complete_step", step_id="sure", notes="Shipped.")
    elif value["checkpoint"] is None:
        value = call("nav_action", state=value["state"], action="complete_step", step_id="do", notes="Done.")

    told = call("nav_checkpoint", state=value["state"])

    assert (told["active"], told["checkpoint"]["id"]) == (True, "sure")
    assert told["waitsForPerson"] == value["waitsForPerson"] != []
    assert "Studio" in told["message"]
    expected = ["approve", "send_back", "reject"] if approves else ["yes", "no"]
    assert [option["id"] for option in told["checkpoint"]["options"]] == expected


@pytest.mark.parametrize("dialect", ["session", "orchestrator"])
def test_whoever_comes_back_to_a_session_is_told_where_it_stands_and_that_it_is_over(dialect):
    desk = make_desk()
    first = activity("first", steps=[folder_step("do")], transitions=[{"to": "last", "isDefault": True}])
    asked = [checkpoint("sure", human=True)] if dialect == "session" else []
    files = folder(first, activity("last", steps=[folder_step("end")], checkpoints=asked))
    publish_folder(desk, files)
    call = caller(dialect, desk.agent)
    token = call("start_session", workflow_id="team.plan")["session_token"]

    def back():
        told = call("start_session", workflow_id="team.plan", session_token=token)
        return told["status"], told["current_activity"]

    def gone_to(activity_id, *done):
        manifest = [{"step_id": step_id, "output": "Done."} for step_id in done]
        call("next_activity", session_token=token, activity_id=activity_id, step_manifest=manifest)

    assert back() == ("active", "none")
    gone_to("first")
    assert back() == ("active", "first")
    gone_to("last", "do")
    if dialect == "session":
        assert back() == ("blocked", "last")
        waits = call("start_session", workflow_id="team.plan", session_token=token)["waits_for_person"]
        assert [each["checkpoint_id"] for each in waits] == ["sure"]
        answer(desk.person, CheckpointRequest.objects.get())
        assert call("start_session", workflow_id="team.plan", session_token=token)["answered"]["optionId"] == "yes"
    gone_to("workflow-end", "end")
    assert back() == ("completed", "last")


@pytest.mark.parametrize(
    ("dialect", "tool"),
    [
        ("session", "respond_checkpoint"),
        ("orchestrator", "respond_checkpoint"),
        ("orchestrator", "present_checkpoint"),
        ("orchestrator", "resume_checkpoint"),
        ("orchestrator", "yield_checkpoint"),
        ("orchestrator", "get_activity"),
    ],
)
def test_whoever_would_go_on_with_a_run_that_has_ended_is_told_that_it_has(dialect, tool):
    """And not to go on with the work, nor to ask what the next call refuses."""
    desk = make_desk()
    publish_folder(
        desk, folder(activity("work", steps=[folder_step("do")], checkpoints=[checkpoint("sure", required=False)]))
    )
    call = caller(dialect, desk.agent)
    token = call("start_session", workflow_id="team.plan")["session_token"]
    token = call("next_activity", session_token=token, activity_id="work")["session_token"]
    done = [{"step_id": "do", "output": "Done."}]
    token = call("next_activity", session_token=token, activity_id="workflow-end", step_manifest=done)["session_token"]
    named = {"checkpoint_id": "sure"} if tool == "yield_checkpoint" or dialect == "session" else {}
    chosen = {"option_id": "yes"} if tool == "respond_checkpoint" else {}

    refused = call.refused(tool, session_token=token, **named, **chosen)

    assert refused["code"] == "RUN_COMPLETE"
    assert "start_session" in refused["details"]["suggestion"]


@pytest.mark.parametrize("dialect", ["session", "orchestrator"])
@pytest.mark.parametrize("target", ["first", "last", "workflow-end", "nowhere"])
def test_a_run_that_has_ended_enters_no_activity_not_even_its_last(dialect, target):
    desk = make_desk()
    first = activity("first", steps=[folder_step("do")], transitions=[{"to": "last", "isDefault": True}])
    publish_folder(desk, folder(first, activity("last", steps=[folder_step("end")])))
    call = caller(dialect, desk.agent)
    token = call("start_session", workflow_id="team.plan")["session_token"]
    for activity_id, done in (("first", []), ("last", ["do"]), ("workflow-end", ["end"])):
        manifest = [{"step_id": step_id, "output": "Done."} for step_id in done]
        ended = call("next_activity", session_token=token, activity_id=activity_id, step_manifest=manifest)

    more = [{"step_id": "end", "output": "Done once more."}]
    refused = call.refused(
        "next_activity", session_token=ended["session_token"], activity_id=target, step_manifest=more
    )

    assert refused["code"] == "RUN_COMPLETE"


@pytest.mark.parametrize("index", ["overview", "overview.md", "plan"])
def test_a_resource_is_read_by_the_name_of_its_file_whatever_it_calls_itself(index):
    desk = make_desk()
    named = {"resources__overview.md": b"---\nid: plan\n---\n# Overview\n"}
    publish_folder(
        desk, folder(activity("work", steps=[folder_step("do")]), about=about(initialActivity="work"), **named)
    )
    call = caller("navigation", desk.agent)

    assert "# Overview" in call.text("get_resource", workflow_id="team.plan", index=index)
    held = read_attachment(actor=desk.agent, workflow_id="team.plan", held=HandedOut.RESOURCES, name=index)
    assert "# Overview" in held.text


# Files, the id that each gives itself, and what its text begins with: no number, one number twice, an id that is the number of another.
SHELVES = {
    "a number": {"03-guide.md": "", "04-other.md": ""},
    "no number": {"guide.md": "", "other.md": ""},
    "no number and another id": {"overview.md": "plan", "other.md": "overview"},
    "one number twice": {"03-guide.md": "", "03-other.md": "", "003-third.md": "fourth"},
    "an id that reads as a number": {"guide.md": "3-steps", "03-other.md": ""},
    "nought": {"00-first.md": "", "zeroth.md": "0"},
}


def shelf_of(part, shelf):
    """The text of each file is its own name."""
    said = {name: f"---\nid: {own}\n---\n" if own else "" for name, own in shelf.items()}
    return {f"{part}__{name}": f"{front}# This is {name}\n".encode() for name, front in said.items()}


def list_of(call, tool):
    (listed,) = call(tool, workflow_id="team.plan").values()
    return listed


@pytest.mark.parametrize("shelf", SHELVES.values(), ids=SHELVES)
def test_every_guide_is_listed_by_an_index_by_which_it_is_read_and_which_it_says_itself(shelf):
    desk = make_desk()
    held = {**shelf_of("resources", shelf), **shelf_of("templates", shelf)}
    work = activity("work", steps=[folder_step("do")])
    publish_folder(desk, folder(work, about=about(initialActivity="work"), **held))
    call = caller("navigation", desk.agent)

    for lists, reads in (("list_workflow_resources", "get_resource"), ("list_templates", "get_template")):
        read = [(each, call(reads, workflow_id="team.plan", index=each["index"])) for each in list_of(call, lists)]
        assert sorted(found["content"].rpartition("This is ")[2].strip() for _each, found in read) == sorted(shelf)
        assert [found["index"] for _each, found in read] == [each["index"] for each, _found in read]
    for dialect, named in (("session", "resource_index"), ("orchestrator", "resource_id")):
        follow = caller(dialect, desk.agent)
        token = follow("start_session", workflow_id="team.plan", agent_id="a")["session_token"]
        indexes = [each["index"] for each in list_of(call, "list_workflow_resources")]
        told = [str(follow("get_resource", session_token=token, **{named: index})) for index in indexes]
        assert sorted(name for name in shelf for text in told if f"This is {name}" in text) == sorted(shelf)


@pytest.mark.parametrize("shelf", SHELVES.values(), ids=SHELVES)
def test_the_resources_of_a_skill_are_listed_by_what_reads_them(shelf):
    desk = make_desk()
    listing = skill("drawing", resources=[name.partition(".")[0] for name in shelf])
    held = {**shelf_of("resources", shelf), "skills__00-drawing.toon": listing}
    work = activity("work", steps=[folder_step("do")])
    publish_folder(desk, folder(work, about=about(initialActivity="work", skills=["drawing"]), **held))
    call = caller("session", desk.agent)
    token = call("start_session", workflow_id="team.plan", agent_id="a")["session_token"]

    listed = call("get_skills", session_token=token)["skills"]["drawing"]["_resources"]

    for each in listed:
        found = call("get_resource", session_token=token, resource_index=each["index"])["resource"]
        assert (found["id"], found["index"]) == (each["id"], each["index"])


# Words of another dialect


def test_a_refusal_names_arguments_that_the_dialect_has():
    desk = make_desk()
    published(desk, step("ship", validationCriteria=LINES))
    call = caller("navigation", desk.agent)
    begun = call("nav_start", workflow_id="team.sample")
    wrong = call.refused(
        "nav_action", state=begun["state"], action="complete_step", step_id="ship", artifacts=[{"no": "kind"}]
    )
    lacking = call("nav_action", state=begun["state"], action="complete_step", step_id="ship")
    handed = caller("session", desk.agent)
    token = handed("start_session", workflow_id="team.sample", agent_id="a")["session_token"]
    token = handed("next_activity", session_token=token, activity_id="main")["session_token"]
    left_out = handed.refused("next_activity", session_token=token, activity_id="workflow-end")

    assert wrong["details"]["validationErrors"][0]["path"] == "artifacts[0]"
    for told in (wrong, lacking, left_out):
        assert [word for word in ("output.", "nextCall", "notesMarkdown", "tokens") if word in json.dumps(told)] == []
