"""What an agent is given to read: blocks under headings, references, features, checks, roles and guidance."""

import pytest

from tests.step_documents import compiled, errors_of, items_of, loop, program_of, step, warnings_of, workflow
from workflows_app.engine.steps import refs
from workflows_app.engine.steps.features import FEATURES

MEMORY_STORE = "wr.refs.memory_store"


def prompt_of(**fields):
    return items_of(workflow(step("first", **fields)))["first"].prompt


def test_blocks_stand_in_their_order_under_their_headings():
    blocks = {
        "verify": ["It works."],
        "outputRequired": {"notes": "What was done."},
        "procedure": ["Read.", "Write."],
        "constraints": ["Be brief."],
        "goal": "Reach it.",
    }
    assert prompt_of(promptBlocks=blocks) == (
        "## Goal\nReach it.\n\n"
        "## Constraints\n- Be brief.\n\n"
        "## Procedure\n1. Read.\n2. Write.\n\n"
        "## Output required\n- `notes`: What was done.\n\n"
        "## Verify\n- It works."
    )


def test_a_block_that_is_left_out_has_no_heading():
    assert prompt_of(promptBlocks={"goal": "Reach it."}) == "## Goal\nReach it."


def test_outputs_stand_in_the_order_of_their_names():
    assert prompt_of(promptBlocks={"outputRequired": {"zeta": "Z", "alpha": "A"}}) == (
        "## Output required\n- `alpha`: A\n- `zeta`: Z"
    )


def test_an_authors_own_number_is_not_said_twice():
    assert prompt_of(promptBlocks={"procedure": ["1. Read.", "2) Write.", "7. Keep."]}) == (
        "## Procedure\n1. Read.\n2. Write.\n3. 7. Keep."
    )


def test_lines_of_one_item_stay_with_it():
    assert prompt_of(promptBlocks={"constraints": ["One\ntwo"], "procedure": ["One\ntwo"]}) == (
        "## Constraints\n- One\n  two\n\n## Procedure\n1. One\n   two"
    )


@pytest.mark.parametrize("blocks", [{}, {"goal": "", "constraints": []}])
def test_blocks_that_say_nothing_are_refused(blocks):
    assert errors_of(workflow(step("first", promptBlocks=blocks))) == [("too_short", "steps[0].promptBlocks")]


def test_parts_of_text_and_references_are_put_together():
    goal = [{"kind": "text", "text": "Remember:"}, {"kind": "ref", "refId": MEMORY_STORE}]
    assert prompt_of(promptBlocks={"goal": goal}) == f"## Goal\nRemember: {refs.TEXTS[MEMORY_STORE]}"


def test_a_reference_leaves_its_origin_in_the_program():
    constraint = [{"kind": "ref", "refId": MEMORY_STORE}]
    program = program_of(workflow(step("first", promptBlocks={"goal": "Go.", "constraints": [constraint]})))
    (origin,) = program.provenance
    assert (origin.at, origin.kind, origin.source) == ("first", "ref", MEMORY_STORE)
    assert origin.digest.startswith("sha256:")


def test_an_unknown_reference_gets_the_one_that_was_meant():
    part = [{"kind": "ref", "refId": "wr.refs.memory_stor"}]
    document = workflow(step("first", promptBlocks={"verify": ["Fine.", part]}))
    (problem,) = compiled(document).errors
    assert (problem.code, problem.path) == ("unknown_ref", "steps[0].promptBlocks.verify[1][0].refId")
    assert problem.suggestion == f"Did you mean {MEMORY_STORE!r}?"


def test_there_are_seven_references_and_three_features():
    assert {name.removeprefix("wr.refs.") for name in refs.TEXTS} == {
        "memory_usage",
        "memory_store",
        "memory_query",
        "notes_first_durability",
        "synthesis_under_disagreement",
        "parallelize_cognition_serialize_synthesis",
        "adversarial_challenge_rules",
    }
    assert set(FEATURES) == {
        "wr.features.memory_context",
        "wr.features.capabilities",
        "wr.features.subagent_guidance",
    }


# Features


def test_features_are_added_to_blocks_in_the_order_of_their_names():
    names = ["wr.features.subagent_guidance", "wr.features.capabilities"]
    program = program_of(workflow(step("first", promptBlocks={"constraints": ["Own."]}), features=names))
    assert program.features == tuple(sorted(names))
    lines = ["Own.", *FEATURES[names[1]].constraints, *FEATURES[names[0]].constraints]
    assert "\n".join(f"- {line}" for line in lines) in program.activities[0].body[0].prompt
    assert [(origin.at, origin.source) for origin in program.provenance] == [("first", names[1]), ("first", names[0])]


def test_the_order_in_which_features_are_declared_changes_nothing():
    names = ["wr.features.subagent_guidance", "wr.features.capabilities"]
    blocks = step("first", promptBlocks={"goal": "Go."})
    assert program_of(workflow(blocks, features=names)) == program_of(workflow(blocks, features=names[::-1]))


def test_a_feature_without_blocks_reaches_nobody_and_says_so():
    document = workflow(step("first"), features=["wr.features.capabilities"])
    assert items_of(document)["first"].prompt == "Do first."
    assert warnings_of(document) == [("ignored_field", "features[0]")]


def test_an_unknown_feature_is_an_error():
    assert errors_of(workflow(features=["wr.features.magic"])) == [("unknown_feature", "features[0]")]


# Checks, roles, guidance


def test_a_check_to_run_and_an_audit_stand_at_the_end_of_the_prompt():
    item = items_of(
        workflow(
            step(
                "first",
                verification={"command": "make test", "prompt": "Quote the last line."},
                audit={"prompt": "Look again.", "rubric": ["Is it true?", "Is it short?"]},
            ),
        ),
    )["first"]
    assert item.prompt == (
        "Do first.\n\n"
        "## Run this check\n```\nmake test\n```\n\nQuote the last line.\n\n"
        "## Audit your result\nLook again.\n\n- Is it true?\n- Is it short?"
    )
    assert item.verification.command == "make test"
    assert item.audit.rubric == ("Is it true?", "Is it short?")


def test_a_check_and_an_audit_without_words_have_words_of_ours():
    prompt = prompt_of(verification={"command": "make test"}, audit={"rubric": ["True?"]})
    assert "Put the command and the end of its output into your notes." in prompt
    assert "Before you hand in this step" in prompt


def test_a_command_with_a_fence_is_fenced_by_a_longer_one():
    assert "````\necho '```'\n````" in prompt_of(verification={"command": "echo '```'"})


def test_the_role_of_a_step_replaces_that_of_the_workflow():
    document = workflow(
        step("first"),
        step("second", agentRole="You doubt everything."),
        loop("again", [step("inner")]),
        agentRole="You are careful.",
    )
    items = items_of(document)
    assert items["first"].agent_role == "You are careful."
    assert items["second"].agent_role == "You doubt everything."
    assert items["inner"].agent_role == "You are careful."


def test_fragments_wait_for_the_run_with_their_conditions():
    fragments = [
        {"id": "deep", "text": "Go deeper.", "when": {"var": "depth", "equals": "deep"}},
        {"id": "on", "text": "On."},
    ]
    deep, always = items_of(workflow(step("first", promptFragments=fragments)))["first"].fragments
    assert (deep.text, deep.when.path) == ("Go deeper.", ("depth",))
    assert (always.text, always.when) == ("On.", None)


def test_what_waits_for_the_run_is_left_as_written():
    assert prompt_of(prompt="Look at {{ item.name }} and {this}.") == "Look at {{ item.name }} and {this}."


def test_an_expression_in_braces_is_warned_of_where_it_stands():
    prompt = "Set total. Round {{n + 1}} of {{total}}."
    document = workflow(step("first", prompt=prompt, guidance=["{{list.length() }}"]))
    assert warnings_of(document) == [
        ("expression_placeholder", "steps[0].guidance[0]"),
        ("expression_placeholder", "steps[0].prompt"),
    ]


def test_hints_of_an_output_are_guidance():
    item = items_of(workflow(step("first", guidance=["Own."], output={"hints": ["Ten lines.", "No more."]})))["first"]
    assert item.guidance == ("Own.", "Ten lines.", "No more.")
    assert items_of(workflow(step("first", output={"hints": "Short."})))["first"].guidance == ("Short.",)


def test_a_step_keeps_what_is_said_about_files_and_models():
    item = items_of(workflow(step("first", askForFiles=True, modelTier="heavy")))["first"]
    assert (item.ask_for_files, item.model_tier) == (True, "heavy")
    assert program_of(workflow(modelTier="mid")).model_tier == "mid"
