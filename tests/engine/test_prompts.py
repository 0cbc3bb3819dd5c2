"""What the agent is shown: the pending step with all that it must obey, and nothing of later ones."""

import pytest

from sessions_app.engine.obligations import examine
from sessions_app.engine.prompts import pending_of, title_of
from sessions_app.engine.state import CapabilityObservation, CapabilityProvenance, CapabilityStatus, Snapshot
from sessions_app.engine.submissions import Submission
from tests.engine_play import activities, asking, built, do, played, steps_program
from tests.step_documents import loop as authored_loop, step
from tests.walking import IS_ON, activity, loop
from workflows_app.engine import walker
from workflows_app.engine.program import (
    Capability,
    CapabilityNeed,
    Confirmation,
    ConfirmationKind,
    Fragment,
    Function,
    LoopKind,
    Option,
    Step,
)
from workrail_site.dialects.rail.replies import pending_json


def at_start(program, variables=None, **fields):
    given = variables or {}
    walk = walker.start(program=program, variables=given)
    return Snapshot(position=walk.position, variables=given, **fields)


def shown(program, variables=None, **fields):
    return pending_of(program=program, snapshot=at_start(program, variables, **fields))


def after(program, snapshot):
    walk = walker.complete_pending(program=program, position=snapshot.position, variables=snapshot.variables)
    return Snapshot(position=walk.position, variables=snapshot.variables)


def test_nothing_is_pending_when_the_run_is_complete():
    program = built(do("a"))
    end = after(program, at_start(program))

    assert pending_of(program=program, snapshot=end) is None
    assert title_of(program=program, snapshot=end) == ""


def test_what_the_step_says_is_shown_and_nothing_of_the_steps_behind_it():
    program = steps_program(
        step("first-step", agentRole="You are an exact reviewer.", guidance=["Be brief."]),
        step("second-step", prompt="SECRET-OF-LATER", guidance=["SECRET-GUIDANCE"]),
        metaGuidance=["Keep notes."],
    )

    pending = shown(program)

    assert (pending.step_id, pending.agent_role) == ("first-step", "You are an exact reviewer.")
    assert (pending.guidance, pending.workflow_guidance) == (("Be brief.",), ("Keep notes.",))
    assert "SECRET" not in str(pending_json(pending, "sample"))


def test_values_of_the_run_stand_in_title_prompt_and_guidance():
    item = Step(id="s", title="Look at {{file}}", prompt="Read {{file}} as {{who}}.", guidance=("Only {{file}}.",))

    pending = shown(built(item), {"file": "a.py"})

    assert (pending.title, pending.prompt) == ("Look at a.py", "Read a.py as [unset: who].")
    assert pending.guidance == ("Only a.py.",)
    assert title_of(program=built(item), snapshot=at_start(built(item), {"file": "a.py"})) == "Look at a.py"


def test_values_of_the_run_stand_in_all_that_is_told_of_a_step():
    ask = [{"type": "contains", "value": "Risks:", "message": "Name the risks of {{file}}."}]
    named = {"agentRole": "You own {{file}}.", "functionReferences": ["check()"], "validationCriteria": ask}
    functions = [{"name": "check", "definition": "Runs {{file}}."}]
    program = steps_program(step("look-once", **named), functionDefinitions=functions)

    snapshot = at_start(program, {"file": "a.py"})
    pending = pending_of(program=program, snapshot=snapshot)
    failed = examine(
        program=program, snapshot=snapshot, submission=Submission(notes="Done."), variables=snapshot.variables
    )

    told = (pending.agent_role, pending.functions[0].definition, pending.requirements[0], *failed.issues)
    assert [text for text in told if "a.py" not in text or "{{" in text] == []


def test_the_round_of_a_loop_stands_in_its_prompts():
    item = Step(id="s", title="S", prompt="Round {{currentIteration}}: {{currentItem}}.")
    program = built(loop("l", item, kind=LoopKind.FOR_EACH, items=("files",)))
    second = after(program, at_start(program, {"files": ["x", "y"]}))

    pending = pending_of(program=program, snapshot=second)

    assert (pending.prompt, pending.key) == ("Round 2: y.", "l@1::s")
    assert pending_json(pending, "sample")["stepKey"] == "l@1::s"


def test_a_fragment_is_shown_when_its_condition_holds():
    item = do("a", fragments=(Fragment(id="f", text="Also {{this}}.", when=IS_ON), Fragment(id="g", text="Always.")))

    assert shown(built(item)).prompt == "Do a.\n\nAlways."
    assert shown(built(item), {"on": True, "this": "that"}).prompt == "Do a.\n\nAlso that.\n\nAlways."


def test_the_functions_of_a_step_are_shown():
    item = do("a", functions=(Function(name="check", definition="Runs the checks."),))

    assert pending_json(shown(built(item)), "sample")["functions"] == [
        {"name": "check", "definition": "Runs the checks."}
    ]


def test_requirements_are_shown_before_they_are_failed():
    assert "notesMarkdown" in shown(steps_program(step("plain-step"))).requirements[0]


UNAVAILABLE = CapabilityObservation(status=CapabilityStatus.UNAVAILABLE, provenance=CapabilityProvenance.ATTEMPTED_USE)


@pytest.mark.parametrize("need", [CapabilityNeed.PREFERRED, CapabilityNeed.REQUIRED])
def test_without_delegation_the_plain_way_is_told(need):
    program = built(do("a"), capabilities={Capability.DELEGATION: need})

    seen = shown(program, capabilities={Capability.DELEGATION: UNAVAILABLE})

    assert "one thing after the other" in seen.prompt
    assert "one thing after the other" not in shown(program).prompt


# Confirmations


def confirming(kind, **fields):
    return Confirmation(confirms=kind, **fields)


@pytest.mark.parametrize(
    ("kind", "who"),
    [
        (ConfirmationKind.ALWAYS, "user"),
        (ConfirmationKind.COORDINATOR_EVAL, "coordinator"),
        (ConfirmationKind.HUMAN_APPROVAL, "human"),
    ],
)
def test_a_step_says_who_confirms_it(kind, who):
    pending = shown(built(do("a", confirmation=confirming(kind))))

    assert (pending.require_confirmation, pending.confirmed_by) == (True, who)


def test_a_confirmation_is_asked_only_when_its_condition_holds():
    program = built(do("a", confirmation=confirming(ConfirmationKind.CONDITIONAL, condition=IS_ON)))

    assert not shown(program).require_confirmation
    assert shown(program, {"on": True}).require_confirmation


def test_a_loop_asks_once_when_it_is_entered():
    program = steps_program(
        authored_loop("the-loop", [step("one-thing"), step("other-thing")], type="for", count=2)
        | {"requireConfirmation": True},
    )
    stands = [at_start(program)]
    for _ in range(3):
        stands.append(after(program, stands[-1]))

    asked = [pending_of(program=program, snapshot=stand).require_confirmation for stand in stands]

    assert asked == [True, False, False, False]


def test_a_loop_whose_first_step_is_skipped_asks_with_the_next():
    body = (do("skipped", run_condition=IS_ON), do("first"))
    program = built(loop("l", *body, count=1, confirmation=confirming(ConfirmationKind.ALWAYS)))

    assert shown(program).require_confirmation


def test_of_two_that_ask_the_stronger_is_asked():
    item = do("a", confirmation=confirming(ConfirmationKind.ALWAYS))
    program = built(loop("l", item, count=1, confirmation=confirming(ConfirmationKind.HUMAN_APPROVAL)))

    assert shown(program).confirmed_by == "human"


# Checkpoints


def gated(**fields):
    options = (Option(id="yes", label="Yes", description="Go on."), Option(id="no", label="No"))
    gate, checkpoint = asking("plan", *options, **fields)
    return activities(activity("one", gate, checkpoints=(checkpoint,)), activity("two", do("b")))


def test_a_checkpoint_is_shown_with_its_options_and_how_to_answer():
    pending = shown(gated(), {"what": "this"})

    assert pending.title == "Name of plan"
    assert pending.prompt.startswith("Is {what} right?".replace("{what}", "this"))
    assert "- yes: Yes (Go on.)" in pending.prompt
    told = pending_json(pending, "sample")
    assert '"checkpointId": "plan"' in told["prompt"]
    assert told["checkpoint"]["authority"] == "relayed"


def test_a_checkpoint_for_people_tells_the_agent_that_it_cannot_answer():
    pending = shown(gated(human=True))

    assert pending.confirmed_by == "human"
    told = pending_json(pending, "sample")
    assert "signed-in person" in told["prompt"]
    assert told["checkpoint"]["authority"] == "human"
    assert title_of(program=gated(), snapshot=at_start(gated())) == "Name of plan"


def test_a_workflow_of_several_activities_says_which_one_it_is_in():
    assert shown(gated()).activity == "one"
    assert shown(built(do("a"))).activity == ""


APART = {
    "id": "apart",
    "type": "parallel",
    "title": "Look apart",
    "parallelDelegations": [
        {
            "workflowId": "wr.always",
            "goal": "Look at {{scope}}.",
            "contextMapping": {"scope": "range", "aim.why": "intent"},
        },
        {
            "workflowId": "wr.sometimes",
            "runCondition": {"var": "deep", "equals": True},
            "args": {"lens": "{{scope}}"},
            "contextMapping": {"none": "empty"},
        },
    ],
    "synthesis": {"prompt": "Compare {{scope}}."},
}


def test_what_is_handed_out_has_its_values_and_only_what_has_its_condition():
    program = steps_program(APART)

    shallow = shown(program, {"scope": "src", "aim": {"why": "speed {{deep}}"}}).prompt
    deep = shown(program, {"scope": "src", "aim": {"why": "speed"}, "deep": True}).prompt

    assert "`wr.always`: Look at src." in shallow
    assert "- `range`: src" in shallow
    assert "- `intent`: speed {{deep}}" in shallow
    assert shallow.endswith(
        "Left out now, since the condition does not hold: `wr.sometimes` (only if deep == true).\n\n"
        "## Bring it together\nCompare src."
    )
    assert "Left out" not in deep
    assert "2. `wr.sometimes`\n   - `empty`: [unset: none]\n   - `lens`: src" in deep


def test_where_no_condition_holds_nothing_is_handed_out():
    never = {**APART, "parallelDelegations": APART["parallelDelegations"][1:]}
    assert shown(steps_program(never)).prompt.startswith("Nothing is to be handed out here")


@pytest.mark.parametrize("capability", list(Capability))
def test_a_probe_shows_an_example_of_the_capability_that_it_probes(capability):
    program = steps_program(step("work"), capabilities={capability.value: "required"})
    (wanted,) = shown(program).requirements
    assert f'"capability":"{capability.value}"' in wanted
    assert "status: available | unavailable | unknown" in wanted
    assert not any(other.value in wanted for other in Capability if other is not capability)


def test_what_an_assessment_is_for_reaches_the_agent():
    levels = [{"id": "risk", "purpose": "How much may break.", "levels": ["low", "high"]}]
    assessment = {"id": "safety", "purpose": "Whether it can be undone.", "dimensions": levels}
    program = steps_program(step("work", assessmentRefs=["safety"]), assessments=[assessment])
    assert "Whether it can be undone" in shown(program).requirements[0]


def test_in_a_loop_the_round_its_limit_and_its_item_are_told():
    items = loop("each", do("a"), kind=LoopKind.FOR_EACH, items=("files",), max_iterations=7)
    _, at = played(built(items), context={"files": ["one.py", {"path": "two.py"}]})

    told = pending_of(program=built(items), snapshot=at.snapshot)

    assert pending_json(told, "sample")["loop"] == {"id": "each", "round": 1, "atMost": 7, "total": 2, "item": "one.py"}
