"""Which ids a workflow may have, and what a legacy one should be called."""

import pytest

from workflows_app.engine.names import MAX_ID_CHARS, check_id, is_legacy, is_namespaced, suggested_id
from workflows_app.engine.problems import ProblemCode, Severity
from workflows_app.engine.source import Origin


@pytest.mark.parametrize("workflow_id", ["team.plan", "a.b", "my_team.plan-2", "wr2.x"])
@pytest.mark.parametrize("origin", list(Origin))
def test_a_name_in_a_namespace_is_right_everywhere(workflow_id, origin):
    assert check_id(workflow_id=workflow_id, origin=origin) == ()


@pytest.mark.parametrize(
    "workflow_id",
    [
        "",
        "Plan",
        "team.",
        ".plan",
        "team.plan.more",
        "team.2plan",
        "2team.plan",
        "team plan",
        "team/plan",
        "té.am",
        "x" * 65,
    ],
)
@pytest.mark.parametrize("origin", list(Origin))
def test_any_other_form_is_an_error_with_a_valid_name_in_its_place(workflow_id, origin):
    (problem,) = check_id(workflow_id=workflow_id, origin=origin)
    assert (problem.code, problem.severity) == (ProblemCode.BAD_ID, Severity.ERROR)
    assert check_id(workflow_id=suggested_id(workflow_id=workflow_id, origin=origin), origin=origin) == ()


@pytest.mark.parametrize(
    ("origin", "rename"),
    [(Origin.TEAM, "team.plan"), (Origin.PROJECT, "project.plan"), (Origin.REMOTE, "repo.plan")],
)
def test_a_legacy_id_runs_with_a_warning_that_names_its_rename(origin, rename):
    (problem,) = check_id(workflow_id="plan", origin=origin)
    assert (problem.code, problem.severity) == (ProblemCode.LEGACY_ID, Severity.WARNING)
    assert problem.suggestion == f"Rename it to '{rename}'."


def test_the_bundled_library_keeps_the_names_that_others_look_for():
    assert check_id(workflow_id="meta", origin=Origin.BUNDLED) == ()
    assert suggested_id(workflow_id="meta", origin=Origin.BUNDLED) == "wr.meta"


@pytest.mark.parametrize("origin", [Origin.TEAM, Origin.PROJECT, Origin.REMOTE])
def test_the_namespace_of_the_bundled_library_is_reserved(origin):
    (problem,) = check_id(workflow_id="wr.plan", origin=origin)
    assert (problem.code, problem.severity) == (ProblemCode.RESERVED_NAMESPACE, Severity.ERROR)
    assert check_id(workflow_id="wr.plan", origin=Origin.BUNDLED) == ()


@pytest.mark.parametrize(
    ("workflow_id", "rename"),
    [
        ("plan", "team.plan"),
        ("3d-print", "team.w-3d-print"),
        ("-_plan_-", "team.plan"),
        ("---", "team.workflow"),
        ("Big Plan!", "team.big-plan"),
        ("wr.plan", "team.plan"),
        ("other.plan", "other.plan"),
    ],
)
def test_a_rename_is_always_the_same(workflow_id, rename):
    assert suggested_id(workflow_id=workflow_id, origin=Origin.TEAM) == rename


def test_a_rename_is_never_too_long():
    rename = suggested_id(workflow_id="x" * 500, origin=Origin.REMOTE)
    assert len(rename) == MAX_ID_CHARS
    assert is_namespaced(rename)


def test_the_two_forms_have_no_id_in_common():
    for workflow_id in ("plan", "team.plan", "wr.plan", "a", "a.b"):
        assert is_legacy(workflow_id) is not is_namespaced(workflow_id)
