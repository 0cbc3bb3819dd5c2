"""Proofs that the tests of a checklist's rows hold what they promise: for each row a fault that makes one of its tests fail.

    .venv/bin/python -m tests.row_proofs check [rail-050 …]    makes the faults again, and sees the tests fail
    .venv/bin/python -m tests.row_proofs find [rail-050 …]     looks for a fault for each row that has none that stands

A fault is made in the functions that are loaded, so a test of the engine takes milliseconds. What is looked for first are faults
in lines that few other tests of the checklists run: they are most likely what the promise hangs on. Somebody reads what was found.
"""

import functools
import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from tests import faults
from tests.faults import ROOT, Fault

CHECKLISTS = ("rail", "session", "orchestrator", "navigation", "lookup")
PROOFS = ROOT / "tests/contract/row_proofs.json"
_JOB = "WORKRAIL_ROWS_JOB"
# The servers and the place of the run of pytest that asks; the one that makes faults has its own.
_OF_THIS_RUN = {"DATABASE_URL", "REDIS_URL", "PYTEST_XDIST_WORKER", "PYTEST_CURRENT_TEST", "PYTEST_ADDOPTS"}
_MOST_TRIES = 16
_MOST_A_LINE = 2
_MOST_A_FUNCTION = 6
_LONGEST_S = 60
# What carries every call, or was there before it, keeps no promise of a dialect.
_DULL = ("/migrations/", "/management/", "workrail_site/local/", "workrail_site/settings.py", "/services/store/")


def rows() -> dict[str, dict[str, Any]]:
    """The rows of all checklists that name tests; one without an id is called by its dialect and its number."""
    found = {}
    for name in CHECKLISTS:
        path = ROOT / f"tests/contract/{name}_checklist.json"
        for number, row in enumerate(json.loads(path.read_text(encoding="utf-8")), start=1):
            if row.get("tests"):
                found[row.get("id", f"{name}-{number:03}")] = row
    return found


def proofs() -> dict[str, dict[str, Any]]:
    return json.loads(PROOFS.read_text(encoding="utf-8"))


def fault_of(proof: dict[str, Any]) -> Fault | None:
    """None where what was broken is written otherwise now, or elsewhere."""
    if not (ROOT / proof["path"]).is_file():
        return None
    wanted = (proof["path"], proof["function"], proof["was"], proof["broken"], proof.get("nth", 0))
    return next((fault for fault in faults.faults_in(proof["path"]) if fault.name == wanted), None)


def unproven(names: Sequence[str]) -> list[str]:
    """Of these rows those whose test did not fail, with its fault made, in a process of their own."""
    known = proofs()
    wanted: dict[str, dict[str, Any]] = {}
    for name in names:
        wanted.setdefault(known[name]["test"], {})[name] = known[name]
    failed = _run({"act": "check", "wanted": wanted})
    return [name for name in names if name not in failed]


def find(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The rows for which a fault was found, with it."""
    known, asked = rows(), {}
    for name in names:
        for test in known[name]["tests"]:
            asked.setdefault(test, []).append(name)
    found = _run({"act": "find", "wanted": asked})
    return {
        name: best
        for name in names
        if (best := next((found[test] for test in known[name]["tests"] if test in found), None)) is not None
    }


def _run(job: dict[str, Any]) -> dict[str, Any]:
    if not job["wanted"]:
        return {}
    folder = ROOT / ".workrail"
    folder.mkdir(exist_ok=True)
    told = folder / f"rows-{os.getpid()}.jsonl"
    asked = folder / f"rows-{os.getpid()}.json"
    asked.write_text(json.dumps({**job, "told": str(told)}), encoding="utf-8")
    told.write_text("", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-ptests.row_proofs", "-pno:randomly", "-n0", "-q", "-mslow or not slow"]
    try:
        subprocess.run(
            [*command, *job["wanted"]],
            cwd=ROOT,
            env={name: text for name, text in os.environ.items() if name not in _OF_THIS_RUN} | {_JOB: str(asked)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        return dict(json.loads(line) for line in told.read_text(encoding="utf-8").splitlines())
    finally:
        told.unlink()
        asked.unlink()


# Inside of pytest


class _StuckError(BaseException):
    """A fault has made a loop without an end."""


class _Beside:
    """Stands for a test beside this one: what all of its module share stays set up."""

    def __init__(self, item: pytest.Item) -> None:
        self._chain = item.listchain()[:-1]

    def listchain(self) -> list[Any]:
        return self._chain


@functools.cache
def _job() -> dict[str, Any] | None:
    path = os.environ.get(_JOB)
    return json.loads(Path(path).read_text(encoding="utf-8")) if path else None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    job = _job()
    if job is None:
        return None
    test = item.nodeid.partition("[")[0]
    known = set(_told(job))
    if job["act"] == "check":
        for row, proof in job["wanted"].get(test, {}).items():
            if row not in known and (fault := fault_of(proof)) is not None and _fails(item, fault):
                _tell(job, row, proof)
    elif test not in known and (fault := _first_fault(item)) is not None:
        _tell(job, test, {"test": test, **_as_proof(fault)})
    item.session._setupstate.teardown_exact(nextitem)
    return True


def _as_proof(fault: Fault) -> dict[str, Any]:
    told = {"path": fault.path, "function": fault.function, "was": fault.was, "broken": fault.broken}
    return {**told, "nth": fault.nth} if fault.nth else told


def _tell(job: dict[str, Any], name: str, value: Any) -> None:
    with Path(job["told"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps([name, value]) + "\n")


def _told(job: dict[str, Any]) -> Iterator[str]:
    for line in Path(job["told"]).read_text(encoding="utf-8").splitlines():
        yield json.loads(line)[0]


def _run_item(item: pytest.Item, *, longest_s: float = 0) -> bool:
    """Whether the test passes. Without a limit it may take its time: the first one waits for the servers."""
    signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, longest_s)
    try:
        reports = runtestprotocol(item, nextitem=_Beside(item), log=False)
    except _StuckError:
        return True
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    _failure.clear()
    _failure.extend(report for report in reports if report.failed)
    return all(report.passed for report in reports)


_failure: list[pytest.TestReport] = []


def _stop(*_: object) -> None:
    raise _StuckError


def _fails(item: pytest.Item, fault: Fault) -> bool:
    """It passes, says so itself when the fault is there, and passes again without it."""
    if not _run_item(item):
        return False
    with faults.made(fault, faults.loaded_functions()) as count:
        _forget_what_is_kept()
        falls = count > 0 and not _run_item(item, longest_s=_LONGEST_S) and _is_said_by_the_test(_failure[0])
    _forget_what_is_kept()
    return falls and _run_item(item)


def _is_said_by_the_test(report: pytest.TestReport) -> bool:
    """By a line of the tests, or since a call was refused; a fault that only breaks the code proves nothing."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if report.when != "call" or crash is None:
        return False
    name = crash.message.partition(":")[0]
    is_refusal = name.endswith("Error") and name.startswith(faults.PRODUCT)
    return f"{ROOT}/tests/" in str(crash.path) or is_refusal or name.startswith(("AssertionError", "assert ", "Failed"))


def _forget_what_is_kept() -> None:
    for name, module in list(sys.modules.items()):
        if name.startswith(faults.PRODUCT):
            for value in list(vars(module).values()):
                if isinstance(value, functools._lru_cache_wrapper):
                    value.cache_clear()
    programs = sys.modules.get("workflows_app.selectors.programs")
    if programs is not None:
        programs._programs.clear()


# Looking for faults


class _Trace:
    """The lines of the product that a test runs."""

    def __init__(self) -> None:
        self.lines: dict[str, set[int]] = defaultdict(set)

    def __call__(self, frame: Any, _event: str, _argument: object) -> Any:
        name = frame.f_code.co_filename
        if not name.startswith(faults.PLACES):
            return None
        lines = self.lines[name[len(str(ROOT)) + 1 :]]
        lines.add(frame.f_lineno)

        def within(frame: Any, event: str, _argument: object) -> Any:
            if event == "line":
                lines.add(frame.f_lineno)
            return within

        return within


_runs_of: dict[str, dict[str, set[int]]] = {}


def pytest_collection_finish(session: pytest.Session) -> None:
    """Before the first fault is made, every test is run once: which lines are whose is known then."""
    job = _job()
    if job is not None and job["act"] == "find":
        session.items[:] = [*session.items, *session.items]


def _first_fault(item: pytest.Item) -> Fault | None:
    if item.nodeid not in _runs_of:
        trace = _Trace()
        sys.settrace(trace)
        threading.settrace(trace)
        passes = _run_item(item)
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]
        _runs_of[item.nodeid] = trace.lines if passes else {}
        return None
    spent: Counter[tuple[str, object]] = Counter()
    tries = 0
    for fault in _by_how_few_run_it(_runs_of[item.nodeid]):
        line, function = (fault.path, fault.line), (fault.path, fault.function)
        if spent[line] >= _MOST_A_LINE or spent[function] >= _MOST_A_FUNCTION:
            continue
        if tries == _MOST_TRIES:
            return None
        spent.update((line, function))
        tries += 1
        if _fails(item, fault):
            return fault
    return None


def _by_how_few_run_it(lines: dict[str, set[int]]) -> list[Fault]:
    runs: Counter[tuple[str, int]] = Counter()
    for of_test in _runs_of.values():
        runs.update((path, line) for path, numbers in of_test.items() for line in numbers)
    found = [
        fault
        for path, numbers in lines.items()
        if not any(dull in path for dull in _DULL)
        for fault in faults.faults_in(path)
        if fault.line in numbers and fault.broken != "return None"
    ]
    return sorted(found, key=lambda fault: (runs[fault.path, fault.line], fault.name))


def main(arguments: Sequence[str]) -> int:
    act, *named = arguments
    known = proofs()
    if act == "check":
        left = unproven(named or list(known))
    else:
        names = named or [name for name in rows() if name not in known or fault_of(known[name]) is None]
        found = find(names)
        merged = {name: found.get(name) or known.get(name) for name in rows()}
        told = {name: proof for name, proof in merged.items() if proof is not None}
        PROOFS.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        left = [name for name in names if name not in found]
    print(f"{len(left)} rows without a proof:", *left)
    return min(len(left), 1)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
