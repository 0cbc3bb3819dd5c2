"""Rows of the checklists that were proven: with the line broken that keeps a promise, a test that the row names fails.

`row_proofs.json` has a fault for each of them, which is made in the loaded code (see `tests/row_proofs.py`). The table below breaks
lines in a copy of the product, where a promise hangs on a line that no function has, or is held by several rows together.
"""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import row_proofs

ROOT = Path(__file__).parents[2]
PRODUCT = ("sessions_app", "teams_app", "traces_app", "workflows_app", "workrail_site", "templates", "static", "tests")
FILES = ("pyproject.toml", "manage.py", "workrail")


@dataclass(frozen=True, kw_only=True)
class Break:
    path: str
    line: str
    broken: str
    rows: tuple[str, ...]

    @property
    def name(self):
        return f"{Path(self.path).stem}: {self.line.strip().splitlines()[0][:50]}"


ANSWERING = "sessions_app/engine/answering.py"
HANDOVER = "sessions_app/engine/handover.py"
REASONS = "sessions_app/engine/reasons.py"
LOOKUP = "workrail_site/dialects/lookup/faults.py"
BREAKS = (
    Break(
        path=HANDOVER,
        line="    if snapshot.questions:\n        raise CheckpointOpenError.to_move",
        broken="    if not snapshot:\n        raise CheckpointOpenError.to_move",
        rows=("session-016", "session-040", "session-061", "orchestrator-025", "orchestrator-069"),
    ),
    Break(
        path=HANDOVER,
        line="    if snapshot.questions:\n        raise CheckpointOpenError.to_yield",
        broken="    if not snapshot:\n        raise CheckpointOpenError.to_yield",
        rows=("orchestrator-029",),
    ),
    Break(
        path=HANDOVER,
        line=" or not command.asks_on_entry:",
        broken=":",
        rows=("orchestrator-060",),
    ),
    Break(
        path="sessions_app/services/moves/handed_over.py",
        line="    if held.pending:\n        raise CheckpointOpenError.to_resume",
        broken="    if not held:\n        raise CheckpointOpenError.to_resume",
        rows=("orchestrator-031",),
    ),
    Break(
        path="workrail_site/dialects/activities/standing.py",
        line="    refuse_gated(held)\n    return held",
        broken="    return held",
        rows=("orchestrator-008", "orchestrator-058"),
    ),
    Break(
        path=ANSWERING,
        line="min_response_ms=case.place.min_response_ms",
        broken="min_response_ms=0",
        rows=("session-043", "orchestrator-036"),
    ),
    Break(
        path=ANSWERING,
        line="    if checkpoint.blocking:",
        broken="    if not checkpoint:",
        rows=("session-044", "orchestrator-037", "orchestrator-075"),
    ),
    Break(path=ANSWERING, line="    if left_ms > 0:", broken="    if left_ms > 10**9:", rows=("session-045",)),
    Break(
        path=ANSWERING,
        line="    if condition is None:\n",
        broken="    if condition is None:\n        return ()\n    if not case:\n",
        rows=("session-047", "orchestrator-038"),
    ),
    Break(
        path=ANSWERING,
        line="    if conditions.evaluate(condition, variables=variables, mode=case.program.conditions):",
        broken="    if not case:",
        rows=("session-046",),
    ),
    Break(
        path=ANSWERING,
        line="    if option_id not in known:",
        broken="    option_id = option_id if option_id in known else next(iter(known))\n    if option_id not in known:",
        rows=("session-042", "orchestrator-036"),
    ),
    Break(
        path="workrail_site/dialects/activities/answers.py",
        line="auto_advance is True",
        broken="auto_advance is not None",
        rows=("session-018", "session-060", "orchestrator-035", "orchestrator-072"),
    ),
    Break(
        path="sessions_app/engine/steering.py",
        line="        if checkpoint is not None:\n            raise CheckpointBlockingError",
        broken="        if not self.land:\n            raise CheckpointBlockingError",
        rows=("navigation: An active checkpoint blocks steps", "navigation: A checkpoint is looked at, answered"),
    ),
    Break(
        path=REASONS,
        line="        return True\n    return reason.needs_person",
        broken="        return False\n    return reason.needs_person",
        rows=("rail-052", "rail-113", "rail-114", "rail-134", "rail-137", "rail-243"),
    ),
    Break(
        path=REASONS,
        line="    return reason.needs_person and not preferences.waives_people",
        broken="    return True",
        rows=("rail-050", "rail-115", "rail-135", "rail-138", "rail-244"),
    ),
    Break(
        path=REASONS,
        line="gap_of(reason, GapSeverity.CRITICAL)",
        broken="gap_of(reason, GapSeverity.WARNING)",
        rows=("rail-115", "rail-136", "rail-138", "rail-244"),
    ),
    Break(path=REASONS, line="for key in sorted(blockers)", broken="for key in blockers", rows=("rail-139",)),
    Break(
        path="sessions_app/engine/obligations.py",
        line="        if use.required:\n",
        broken="        if not use:\n",
        rows=("rail-095", "rail-113", "rail-243"),
    ),
    Break(
        path="sessions_app/engine/decide.py",
        line="node_kind=NodeKind.BOOKMARK,\n        outputs=handed_in",
        broken="node_kind=NodeKind.STEP,\n        outputs=handed_in",
        rows=("rail-205",),
    ),
    Break(
        path=LOOKUP,
        line="made(LookupCode.WORKFLOW_NOT_FOUND,",
        broken="made(LookupCode.INVALID_WORKFLOW,",
        rows=("lookup: A workflow that does not exist",),
    ),
    Break(
        path=LOOKUP,
        line="made(LookupCode.INVALID_WORKFLOW, workflowId",
        broken="made(LookupCode.STEP_NOT_FOUND, workflowId",
        rows=("lookup: A workflow that is not valid",),
    ),
    Break(
        path=LOOKUP,
        line="made(LookupCode.STEP_NOT_FOUND, stepId",
        broken="made(LookupCode.WORKFLOW_NOT_FOUND, stepId",
        rows=("lookup: A step that does not exist",),
    ),
    Break(
        path=LOOKUP,
        line='"is required" if message',
        broken='"is wanted" if message',
        rows=("lookup: Arguments that are missing",),
    ),
    Break(
        path="workrail_site/dialects/lookup/tools.py",
        line='{"workflow_get": {"workflowId": "id"}}',
        broken="{}",
        rows=("lookup: workflow_get takes its argument",),
    ),
    Break(
        path="workrail_site/dialects/lookup/declared.py",
        line='"examples": examples}',
        broken='"samples": examples}',
        rows=("lookup: Four tools", "lookup: Each tool is declared"),
    ),
    Break(
        path="workrail_site/dialects/rail/tools.py",
        line="    def start_session(",
        broken="    def begin_session(",
        rows=("rail-012", "rail-021", "rail-040", "rail-060"),
    ),
    Break(
        path="workrail_site/dialects/navigation/tools.py",
        line="    def get_template(",
        broken="    def read_template(",
        rows=("navigation: The tools and their parameters",),
    ),
    Break(
        path="workrail_site/dialects/rail/parameters.py",
        line='ConfigDict(extra="forbid"',
        broken='ConfigDict(extra="ignore"',
        rows=("rail-085",),
    ),
    Break(
        path="workflows_app/engine/contract_catalog.py",
        line='    "policy_constraint",\n',
        broken="",
        rows=("rail-269",),
    ),
    *(
        Break(
            path=f"workrail_site/dialects/{dialect}/tools.py",
            line=f"    def {tool}(self)",
            broken=f"    def {tool}(self, *, session_token: handing.SessionToken)",
            rows=(f"{dialect}-001",),
        )
        for dialect, tool in (("session", "health_check"), ("orchestrator", "health_check"))
    ),
    *(
        Break(
            path=f"workrail_site/dialects/{dialect}/tools.py",
            line="    def get_skills(self, *, session_token: handing.SessionToken)",
            broken="    def get_skills(self, *, session_token: given.ExistingToken = None)",
            rows=(row,),
        )
        for dialect, row in (("session", "session-010"), ("orchestrator", "orchestrator-017"))
    ),
)


def rows_of_lists():
    """The tests of each row, by its id; a row of navigation or lookup has none, and is named by how its promise begins."""
    found = {}
    for name in row_proofs.CHECKLISTS:
        for entry in json.loads((ROOT / f"tests/contract/{name}_checklist.json").read_text(encoding="utf-8")):
            found[entry.get("id", f"{name}: {entry['promise']}")] = entry.get("tests", [])
    return found


def held_by(row):
    ((_, tests),) = [(name, tests) for name, tests in rows_of_lists().items() if name.startswith(row)]
    return tests


@pytest.fixture
def copied(tmp_path):
    for folder in PRODUCT:
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("broken", BREAKS, ids=lambda each: each.name)
def test_a_broken_line_fails_a_test_of_each_row_that_it_keeps(copied, broken):
    path = copied / broken.path
    text = path.read_text(encoding="utf-8")
    assert text.count(broken.line) == 1, "The line is not there once; find the one that keeps the promise now."
    path.write_text(text.replace(broken.line, broken.broken), encoding="utf-8")
    named = {row: held_by(row) for row in broken.rows}
    wanted = sorted({test for tests in named.values() for test in tests})

    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", "-rfE", "--tb=no", *wanted]
    ran = subprocess.run(command, cwd=copied, capture_output=True, text=True, check=False, timeout=900)

    fell = {
        line.split()[1].partition("[")[0] for line in ran.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))
    }
    assert fell, ran.stdout[-3000:] + ran.stderr[-3000:]
    unproven = [row for row, tests in named.items() if not fell & set(tests)]
    assert unproven == [], sorted(fell)


def test_each_break_names_rows_and_a_line_that_are_there():
    for each in BREAKS:
        assert (ROOT / each.path).read_text(encoding="utf-8").count(each.line) == 1, each.name
        assert all(held_by(row) for row in each.rows), each.name


# A line that was written anew is proven anew: `.venv/bin/python -m tests.row_proofs find`.
MOST_REWRITTEN = 0.1
SAMPLE = 10


def declared_rows():
    return {row for each in BREAKS for row in each.rows}


def in_engines(proof):
    return proof["test"].startswith("tests/engine/")


def standing():
    return {name: proof for name, proof in row_proofs.proofs().items() if row_proofs.fault_of(proof) is not None}


def test_each_proof_is_of_a_row_and_of_one_of_its_tests():
    rows = row_proofs.rows()

    assert [name for name, proof in row_proofs.proofs().items() if proof["test"] not in rows[name]["tests"]] == []


def test_few_proofs_are_of_lines_that_were_written_anew():
    known = row_proofs.proofs()

    assert len(known) - len(standing()) <= MOST_REWRITTEN * len(known)


def test_every_row_has_a_proof():
    named = {name: row["promise"] for name, row in row_proofs.rows().items()}
    declared = {row.removeprefix("navigation: ").removeprefix("lookup: ") for row in declared_rows()}
    left = [
        name
        for name, promise in named.items()
        if name not in row_proofs.proofs()
        and not ({name} | {word for word in declared if promise.startswith(word)}) & declared
    ]

    assert left == []


def test_a_sample_of_the_proofs_holds():
    names = [name for name, proof in standing().items() if in_engines(proof)]

    assert row_proofs.unproven(names[:: len(names) // SAMPLE]) == []


@pytest.mark.slow
@pytest.mark.parametrize("dialect", row_proofs.CHECKLISTS)
def test_every_proof_holds(dialect):
    assert row_proofs.unproven([name for name in standing() if name.startswith(f"{dialect}-")]) == []
