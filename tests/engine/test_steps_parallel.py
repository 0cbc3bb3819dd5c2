"""Parallel steps: work that is handed out, told as one prompt."""

from tests.step_documents import errors_of, items_of, program_of, step, warnings_of, workflow
from workflows_app.engine.source import Library

LOOK = {"workflowId": "wr.routine-look", "goal": "Look at it."}


def parallel(*delegations, **fields):
    return {
        "id": "apart",
        "type": "parallel",
        "title": "Look apart",
        "parallelDelegations": list(delegations) or [LOOK],
        **fields,
    }


def item(**fields):
    return items_of(workflow(parallel(**fields), agentRole="You are careful."))["apart"]


def test_the_prompt_tells_who_gets_what_under_which_condition():
    delegation = {
        **LOOK,
        "runCondition": {"var": "lenses", "contains": "safety"},
        "contextMapping": {"scope": "range", "aim": "intent"},
        "args": {"lens": "safety", "depth": "full"},
        "modelTier": "heavy",
        "allowedTools": ["Read", "mcp:search"],
    }
    document = workflow(parallel(delegation, LOOK, synthesis={"prompt": "Compare them."}))
    prompt = items_of(document)["apart"].prompt
    assert prompt.endswith(
        "1. `wr.routine-look`: Look at it.\n"
        '   - Only if lenses contains "safety"\n'
        "   - From your context: `aim` as `intent`, `scope` as `range`\n"
        "   - `depth`: full\n"
        "   - `lens`: safety\n"
        "   - Model: heavy\n"
        "   - Tools: `Read`, `mcp:search`\n"
        "2. `wr.routine-look`: Look at it.\n\n"
        "## Bring it together\nCompare them.",
    )


def test_delegations_are_kept_as_data_as_well():
    (delegation,) = item().delegations
    assert (delegation.workflow, delegation.goal, delegation.run_condition) == ("wr.routine-look", "Look at it.", None)


def test_the_synthesis_may_be_bound_to_a_contract():
    made = item(synthesis={"prompt": "Compare.", "outputContract": {"contractRef": "wr.contracts.gaps"}})
    assert (made.synthesis_prompt, made.contract.contract, made.notes_required) == (
        "Compare.",
        "wr.contracts.gaps",
        False,
    )
    assert item().notes_required
    assert not item(notesOptional=True).notes_required


def test_a_parallel_step_has_conditions_roles_and_confirmations_like_any_other():
    made = item(runCondition={"var": "apart"}, requireConfirmation=True, guidance=["Be fair."])
    assert (made.run_condition.path, made.confirmation.confirms) == (("apart",), "always")
    assert (made.agent_role, made.guidance) == ("You are careful.", ("Be fair.",))
    assert item(agentRole="You are bold and free.").agent_role == "You are bold and free."


def test_functions_may_be_shown_with_it():
    document = workflow(
        parallel(functionReferences=["finding()"]), functionDefinitions=[{"name": "finding", "definition": "One line."}]
    )
    assert [function.name for function in items_of(document)["apart"].functions] == ["finding"]


def test_mistakes_in_a_delegation_have_their_place():
    document = workflow(parallel({"goal": "Look."}, {**LOOK, "allowedTools": []}, {**LOOK, "args": {"n": 1}}))
    assert errors_of(document) == [
        ("missing_key", "steps[0].parallelDelegations[0].workflowId"),
        ("too_short", "steps[0].parallelDelegations[1].allowedTools"),
        ("wrong_type", "steps[0].parallelDelegations[2].args.n"),
    ]


def test_the_same_delegation_stands_once():
    assert errors_of(workflow(parallel(LOOK, dict(LOOK)))) == [("bad_value", "steps[0].parallelDelegations[1]")]


def test_an_unknown_workflow_is_warned_of_once_the_library_is_known():
    document = workflow(parallel())
    assert warnings_of(document) == []
    known = Library(workflow_ids=frozenset({"team.other"}))
    assert warnings_of(document, library=known) == [("unknown_workflow", "steps[0].parallelDelegations[0].workflowId")]
    by_id = Library(workflow_ids=frozenset({"team.other"}), routines={"peek": {"id": "wr.routine-look"}})
    by_name = Library(workflow_ids=frozenset({"team.other"}), routines={"look": {}})
    assert warnings_of(document, library=by_id) == warnings_of(document, library=by_name) == []


def test_it_stands_in_the_order_of_work_like_a_step():
    body = program_of(workflow(step("before"), parallel(), step("after"))).activities[0].body
    assert [made.id for made in body] == ["before", "apart", "after"]
