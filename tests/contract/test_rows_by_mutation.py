"""Rows of the checklists that were proven: with the line broken that keeps a promise, a test that the row names fails.

`row_proofs.json` has a fault for each of them, which is made in the loaded code (see `tests/row_proofs.py`). The table below breaks
lines in a copy of the product, where a promise hangs on a line that is read once, when its module is: a name, a field, a parameter.
"""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import row_proofs

ROOT = Path(__file__).parents[2]
PRODUCT = (
    "sessions_app",
    "teams_app",
    "traces_app",
    "workflows_app",
    "workrail_site",
    "templates",
    "static",
    "docs",
    "tests",
)
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


BREAKS = (
    Break(
        path="workrail_site/dialects/lookup/tools.py",
        line='{"workflow_get": {"workflowId": "id"}}',
        broken="{}",
        rows=("lookup-005",),
    ),
    Break(
        path="workrail_site/dialects/lookup/declared.py",
        line='"examples": examples}',
        broken='"samples": examples}',
        rows=("lookup-001", "lookup-002"),
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
        rows=("navigation-006",),
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


def held_by(row):
    return row_proofs.rows()[row]["tests"]


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
    assert row_proofs.rows().keys() - row_proofs.proofs().keys() - declared_rows() == set()


def test_a_sample_of_the_proofs_holds():
    names = [name for name, proof in standing().items() if in_engines(proof)]

    assert row_proofs.unproven(names[:: len(names) // SAMPLE]) == []


# Rows whose test reads vectors that are not in every checkout, and is skipped there.
VECTORS = row_proofs.ROOT.parent / "shared" / "corpus"
OF_VECTORS = {"lookup-007", "rail-196"}


@pytest.mark.slow
@pytest.mark.parametrize("dialect", row_proofs.CHECKLISTS)
def test_every_proof_holds(dialect):
    names = [name for name in standing() if name.startswith(f"{dialect}-")]

    assert row_proofs.unproven([name for name in names if VECTORS.exists() or name not in OF_VECTORS]) == []
