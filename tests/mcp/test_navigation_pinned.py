"""An agent that drives a run by navigation and names its state reads what the run began with: of its own workflow and of what that was
lent, when it is published anew and when it is retired. Numbers of guides that replies print are numbers that get_resource takes.
"""

import json
import re

import pytest
from django.utils import timezone

from teams_app.engine.actors import NO_TEAM, Door, system_actor
from tests.activity_folders import activity, checkpoint, folder, skill, step, workflow
from tests.checkpoint_cast import publish_folder
from tests.handover_play import caller
from tests.mcp.test_told_in_each_dialect import revised
from tests.run_cast import make_desk
from tests.workflow_cast import NOW
from workflows_app.services import publishing
from workflows_app.services.bundled import load_bundled

pytestmark = pytest.mark.django_db(transaction=True)

WAS, NOW_SAID = "As it was.", "As it is now."
LENDER, BORROWER = "team.lender", "team.plan"
# What each tool is asked, and by whom the answer was written.
ASKED = {
    "get_workflow": {},
    "get_workflow_activity": {"activity_id": "work"},
    "get_checkpoint": {"activity_id": "work", "checkpoint_id": "sure"},
    "list_skills": {},
    "get_skill": {"skill_id": "drawing"},
    "list_workflow_resources": {},
    "get_resource": {"index": "01"},
    "list_templates": {},
    "get_template": {"index": "01"},
}


def own_folder(words, *, activity_id="work", **about):
    asked = checkpoint("sure", message=words)
    return folder(
        activity(
            activity_id, description=words, steps=[step("do", skill="drawing", checkpoint="sure")], checkpoints=[asked]
        ),
        about=workflow(description=words, initialActivity=activity_id, **about),
        **{"skills__01-drawing.toon": skill("drawing", name=words, capability=words)},
        **{"resources__01-guide.md": f"---\ntitle: {words}\n---\n# Guide\n\n{words}\n".encode()},
        **{"templates__01-form.md": f"---\ntitle: {words}\n---\n# Form\n\n{words}\n".encode()},
    )


@pytest.fixture
def desk(transactional_db, settings):
    settings.CHECKPOINT_MIN_RESPONSE_MS = 0
    return make_desk()


@pytest.fixture
def call(desk):
    return caller("navigation", desk.agent)


def change(desk, how, workflow_id, files):
    if how == "changed":
        revised(desk, workflow_id, files, 2)
    else:
        publishing.retire_workflow(actor=desk.person, workflow_id=workflow_id, now=NOW)


@pytest.mark.parametrize("tool", ASKED)
@pytest.mark.parametrize("how", ["changed", "retired"])
def test_with_its_state_a_run_reads_what_it_began_with(desk, call, how, tool):
    publish_folder(desk, own_folder(WAS))
    state = call("nav_start", workflow_id=BORROWER)["state"]
    change(desk, how, BORROWER, own_folder(NOW_SAID))

    told = call.text(tool, workflow_id=BORROWER, state=state, **ASKED[tool])

    assert (WAS in told, NOW_SAID in told) == (True, False)
    if how == "changed":
        assert NOW_SAID in call.text(tool, workflow_id=BORROWER, **ASKED[tool])


@pytest.mark.parametrize("how", ["changed", "retired"])
def test_ways_between_activities_are_those_of_the_run(desk, call, how):
    publish_folder(desk, own_folder(WAS))
    state = call("nav_start", workflow_id=BORROWER)["state"]
    change(desk, how, BORROWER, own_folder(NOW_SAID, activity_id="other"))
    asked = {"workflow_id": BORROWER, "from_activity": "work", "to_activity": "nowhere"}

    assert call("validate_transition", **asked, state=state)["reason"] == "Target activity not found: nowhere"


def test_a_skill_is_read_by_the_state_alone(desk, call):
    publish_folder(desk, own_folder(WAS))
    state = call("nav_start", workflow_id=BORROWER)["state"]
    revised(desk, BORROWER, own_folder(NOW_SAID), 2)

    assert call("get_skill", skill_id="drawing", state=state)["capability"] == WAS
    assert WAS in json.dumps(call("list_skills", state=state)["workflow"])


@pytest.mark.parametrize("how", ["changed", "retired"])
def test_what_a_run_was_lent_is_read_as_it_was(desk, call, how):
    lender = {
        **own_folder(WAS),
        "workflow.toon": own_folder(WAS)["workflow.toon"].replace(b"team.plan", b"team.lender"),
    }
    later = {
        **own_folder(NOW_SAID),
        "workflow.toon": own_folder(NOW_SAID)["workflow.toon"].replace(b"team.plan", b"team.lender"),
    }
    publish_folder(desk, lender, LENDER)
    uses = activity("mine", steps=[step("draw", skill="team.lender/drawing")])
    leans = skill("own", resources=["team.lender/01"])
    publish_folder(desk, folder(uses, about=workflow(initialActivity="mine"), **{"skills__01-own.toon": leans}))
    state = call("nav_start", workflow_id=BORROWER)["state"]
    change(desk, how, LENDER, later)

    by_owner = call("get_skill", workflow_id=LENDER, skill_id="drawing", state=state)
    by_name = call("get_skill", workflow_id=BORROWER, skill_id="team.lender/drawing", state=state)
    guides = [
        call.text("get_resource", workflow_id=BORROWER, index="team.lender/01", state=state),
        call.text("get_resource", workflow_id=LENDER, index="01", state=state),
    ]

    assert (by_owner["capability"], by_name["capability"]) == (WAS, WAS)
    assert [WAS in each for each in guides] == [True, True]


@pytest.mark.parametrize("state", ["", "  ", None])
def test_a_state_that_is_left_empty_is_none(desk, call, state):
    publish_folder(desk, own_folder(WAS))

    assert call("get_workflow", workflow_id=BORROWER, state=state)["description"] == WAS


@pytest.mark.parametrize("tool", ASKED)
def test_a_state_opens_nothing_to_another_team_and_no_made_up_one_is_taken(desk, call, tool):
    publish_folder(desk, own_folder(WAS))
    state = call("nav_start", workflow_id=BORROWER)["state"]
    asked = {"workflow_id": BORROWER, **ASKED[tool]}

    stranger = caller("navigation", desk.stranger).refused(tool, **asked, state=state)

    assert stranger["code"].startswith("TOKEN_")
    assert call.refused(tool, **asked, state="st.v1.nothing")["code"].startswith("TOKEN_")


def test_other_workflows_are_read_as_they_are_published_beside_a_state(desk, call):
    publish_folder(desk, own_folder(WAS))
    other = {
        **own_folder(NOW_SAID),
        "workflow.toon": own_folder(NOW_SAID)["workflow.toon"].replace(b"team.plan", b"team.lender"),
    }
    publish_folder(desk, other, LENDER)
    state = call("nav_start", workflow_id=BORROWER)["state"]

    assert call("get_workflow", workflow_id=LENDER, state=state)["description"] == NOW_SAID


@pytest.mark.parametrize("tool", ["get_skill", "get_resource", "get_template"])
def test_the_parts_of_a_long_text_are_of_the_run_to_the_last(desk, call, tool):
    long = b"".join(b"Line %06d of what was.\n" % number for number in range(9_000))
    files = own_folder(WAS) | {
        "resources/01-guide.md": long,
        "templates/01-form.md": long,
        "skills/01-drawing.md": long,
    }
    files.pop("skills/01-drawing.toon")
    publish_folder(desk, files)
    state = call("nav_start", workflow_id=BORROWER)["state"]
    revised(desk, BORROWER, own_folder(NOW_SAID), 2)

    told = call(tool, workflow_id=BORROWER, state=state, **ASKED[tool])
    said = told["content"]
    while "next_action" in told:
        assert told["next_action"]["parameters"]["state"] == state
        told = call(told["next_action"]["tool"], **told["next_action"]["parameters"])
        said += told["content"]

    assert "Line 008999 of what was." in said
    assert NOW_SAID not in said


def test_a_run_whose_workflow_has_changed_says_how_its_own_is_read(desk, call):
    publish_folder(desk, own_folder(WAS))
    state = call("nav_start", workflow_id=BORROWER)["state"]
    revised(desk, BORROWER, own_folder(NOW_SAID), 2)

    (warning,) = call("nav_situation", state=state)["warnings"]

    assert warning["code"] == "WORKFLOW_CHANGED"
    assert "get_workflow_activity" in warning["suggestion"]


def test_every_number_of_a_guide_that_a_bundled_skill_prints_is_read(desk, call):
    load_bundled(actor=system_actor(team_id=NO_TEAM, door=Door.CLI), now=timezone.now())
    printed = set()
    for known in call("list_workflows")["workflows"]:
        listed = call("list_skills", workflow_id=known["id"])
        for held in (*listed["workflow"], *listed["universal"]):
            text = call.text("get_skill", workflow_id=known["id"], skill_id=held["id"])
            printed |= {(known["id"], name) for name in re.findall(r"(?<![\w/.-])[a-z-]+/\d\d(?!\d)", text)}
    assert printed

    refused = [
        (workflow_id, index)
        for workflow_id, index in sorted(printed)
        if call.raw("get_resource", workflow_id=workflow_id, index=index).get("isError")
    ]

    assert refused == []
