"""Proofs that the tests of a checklist's rows hold what they promise: for each row a fault that makes one of its tests fail.

    .venv/bin/python -m tests.row_proofs check [rail-050 …]    makes the faults again, and sees the tests fail
    .venv/bin/python -m tests.row_proofs find [rail-050 …]     looks for a fault for each row that has none that stands
    .venv/bin/python -m tests.row_proofs find rail-050=sessions_app/engine/reasons.py:_stops:waives_people
                                                               looks in this function alone, where this is written

A fault is made in the functions that are loaded, so a test of the engine takes milliseconds; a site that is a process of its own
makes it too. What is looked for first are faults in lines that few other tests of the checklists run: they are most likely what the
promise hangs on. Somebody reads what was found. A better fault may be written into the file by hand: `was` and `broken` are any
expression or statement, as `ast.unparse` writes them.
"""

import functools
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from tests import faults
from tests.faults import ROOT, Fault

CHECKLISTS = ("rail", "session", "orchestrator", "navigation", "lookup")
PROOFS = ROOT / "tests/contract/row_proofs.json"
_JOB = "WORKRAIL_ROWS_JOB"
# The file that tells a site which is a process of its own which fault to make.
_SITE_FAULT = "WORKRAIL_SITE_FAULT"
# The servers and the place of the run of pytest that asks; the one that makes faults has its own.
_OF_THIS_RUN = {"DATABASE_URL", "REDIS_URL", "PYTEST_XDIST_WORKER", "PYTEST_CURRENT_TEST", "PYTEST_ADDOPTS"}
_MOST_TRIES = 40
_MOST_A_LINE = 3
_MOST_A_FUNCTION = 6
_LONGEST_S = 60
# Of the calls of one function, which it costs much to watch; the later ones run hardly another line.
_MOST_WATCHED = 20
# A test that takes so many times as long as before is stuck.
_STUCK_AFTER = 4
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
    return faults.fault_named(proof["path"], proof["function"], proof["was"], proof["broken"], proof.get("nth", 0))


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


def find_within(places: dict[str, list[str]]) -> dict[str, dict[str, Any]]:
    """The rows with a fault in one of the places that are told for each: a file, a function, and what is written there."""
    asked: dict[str, dict[str, list[str]]] = {}
    for name, told in places.items():
        for test in rows()[name]["tests"]:
            asked.setdefault(test, {})[name] = told
    return _run({"act": "find within", "wanted": asked})


def _run(job: dict[str, Any]) -> dict[str, Any]:
    if not job["wanted"]:
        return {}
    folder = ROOT / ".workrail"
    folder.mkdir(exist_ok=True)
    told = folder / f"rows-{os.getpid()}.jsonl"
    asked = folder / f"rows-{os.getpid()}.json"
    asked.write_text(json.dumps({**job, "told": str(told)}), encoding="utf-8")
    told.write_text("", encoding="utf-8")
    fault = folder / f"rows-{os.getpid()}.fault"
    fault.write_text("", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-ptests.row_proofs", "-pno:randomly", "-n0", "-q", "-mslow or not slow"]
    try:
        subprocess.run(
            [*command, *job["wanted"]],
            cwd=ROOT,
            env={name: text for name, text in os.environ.items() if name not in _OF_THIS_RUN}
            | {_JOB: str(asked), _SITE_FAULT: str(fault)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        return dict(json.loads(line) for line in told.read_text(encoding="utf-8").splitlines())
    finally:
        told.unlink()
        asked.unlink()
        fault.unlink()
        fault.with_suffix(".broken").unlink(missing_ok=True)


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
    _load_dialects()
    test = item.nodeid.partition("[")[0]
    known = set(_told(job))
    if job["act"] == "check":
        for row, proof in job["wanted"].get(test, {}).items():
            if row not in known and (fault := fault_of(proof)) is not None and _run_item(item) and _fails(item, fault):
                _tell(job, row, proof)
    elif job["act"] == "find within":
        for row, places in job["wanted"].get(test, {}).items():
            if row not in known and (fault := _fault_within(item, places)) is not None:
                _tell(job, row, {"test": test, **_as_proof(fault)})
    elif test not in known and (fault := _first_fault(item)) is not None:
        _tell(job, test, {"test": test, **_as_proof(fault)})
    item.session._setupstate.teardown_exact(nextitem)
    return True


@functools.cache
def _load_dialects() -> None:
    """Tools are registered when their modules are loaded: with a fault made then, they would be missing in every test after it."""
    from workrail_site.mcp.toolsets import all_servers

    all_servers()


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
    _defects.begin()
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


def _fails(item: pytest.Item, fault: Fault, *, longest_s: float = _LONGEST_S) -> bool:
    """A test that passes says so itself when the fault is there, and passes again without it."""
    with faults.made(fault, faults.loaded_functions()) as count, _in_site(fault):
        if not count and "site" not in item.fixturenames:
            return False
        faults.forget_what_is_kept()
        falls = not _run_item(item, longest_s=longest_s) and _is_said_by_the_test(_failure[0])
        broken = _defects.count()
    faults.forget_what_is_kept()
    return falls and _run_item(item) and broken <= _defects.count()


class _Defects(logging.Handler):
    """Of one run of a test: calls that were answered that something of the server broke. A fault that makes them proves nothing."""

    def __init__(self) -> None:
        super().__init__(level=logging.ERROR)
        self._logged = 0

    def emit(self, record: logging.LogRecord) -> None:
        self._logged += "unhandled_error" in record.getMessage()

    def begin(self) -> None:
        logging.getLogger().addHandler(self)
        self._logged = 0
        _of_site().write_text("", encoding="utf-8")

    def count(self) -> int:
        return self._logged + len(_of_site().read_text(encoding="utf-8"))


def _of_site() -> Path:
    return Path(os.environ[_SITE_FAULT]).with_suffix(".broken")


_defects = _Defects()


@contextmanager
def _in_site(fault: Fault) -> Iterator[None]:
    """The fault in the site that is a process of its own, where the test asks one."""
    told = Path(os.environ[_SITE_FAULT])
    told.write_text(json.dumps(_as_proof(fault)), encoding="utf-8")
    try:
        yield
    finally:
        told.write_text("", encoding="utf-8")


def _is_said_by_the_test(report: pytest.TestReport) -> bool:
    """By a line of the tests, or since a call was refused; a fault that only breaks the code proves nothing."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if report.when != "call" or crash is None:
        return False
    name = crash.message.partition(":")[0]
    is_refusal = name.endswith("Error") and name.startswith(faults.PRODUCT)
    return f"{ROOT}/tests/" in str(crash.path) or is_refusal or name.startswith(("AssertionError", "assert ", "Failed"))


# Looking for faults


class _Trace:
    """The lines of the product that a test runs, and the names that its functions read of their modules."""

    def __init__(self) -> None:
        self.lines: dict[str, set[int]] = defaultdict(set)
        self.names: dict[str, set[str]] = defaultdict(set)
        self._calls: Counter[CodeType] = Counter()

    def __call__(self, frame: Any, _event: str, _argument: object) -> Any:
        name = frame.f_code.co_filename
        self._calls[frame.f_code] += 1
        is_product = name.startswith(faults.PLACES)
        if self._calls[frame.f_code] > _MOST_WATCHED or not (is_product or name.startswith(f"{ROOT}/tests/")):
            return None
        if frame.f_code.co_flags & CO_OPTIMIZED:
            # What a module says while it is read is not what a test asks of it.
            self.names[frame.f_globals["__name__"]].update(frame.f_code.co_names)
        if not is_product:
            return None
        lines = self.lines[name[len(str(ROOT)) + 1 :]]
        lines.add(frame.f_lineno)

        def within(frame: Any, event: str, _argument: object) -> Any:
            if event == "line":
                lines.add(frame.f_lineno)
            return within

        return within


@dataclass(frozen=True, kw_only=True)
class _Seen:
    """What a test runs and reads, and how long it takes while it is watched."""

    lines: dict[str, set[int]]
    names: dict[str, set[str]]
    seconds: float


_runs_of: dict[str, _Seen] = {}
# Of one test with whatever it is called with.
_tries: Counter[str] = Counter()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Before the first fault is made, every test is run once: which lines are whose is known then."""
    job = _job()
    if job is not None and job["act"] == "find":
        session.items[:] = [*session.items, *session.items]


def _first_fault(item: pytest.Item) -> Fault | None:
    if item.nodeid not in _runs_of:
        if not _runs_of:
            # What it takes to begin is no test's own.
            _run_item(item)
        trace, began = _Trace(), time.monotonic()
        sys.settrace(trace)
        threading.settrace(trace)
        passes = _run_item(item)
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]
        if passes:
            seconds = time.monotonic() - began
            _runs_of[item.nodeid] = _Seen(lines=trace.lines, names=trace.names, seconds=seconds)
        return None
    if not _run_item(item):
        return None
    seen = _runs_of[item.nodeid]
    longest_s = min(_LONGEST_S, 2 + _STUCK_AFTER * seen.seconds)
    spent: Counter[tuple[str, object]] = Counter()
    test = item.nodeid.partition("[")[0]
    for fault in _by_how_few_run_it(seen):
        line, function = (fault.path, fault.line), (fault.path, fault.function)
        if spent[line] >= _MOST_A_LINE or spent[function] >= _MOST_A_FUNCTION:
            continue
        if _tries[test] == _MOST_TRIES:
            return None
        spent.update((line, function))
        _tries[test] += 1
        if _fails(item, fault, longest_s=longest_s):
            return fault
    return None


def _fault_within(item: pytest.Item, places: Sequence[str]) -> Fault | None:
    if not _run_item(item):
        return None
    for place in places:
        path, function, written = (*place.split(":", 2), "", "")[:3]
        for fault in faults.faults_in(path):
            is_there = fault.function in {function, faults.CONSTANT + function} or not function
            if is_there and written in fault.was and fault.broken != "return None" and _fails(item, fault):
                return fault
    return None


def _by_how_few_run_it(seen: _Seen) -> list[Fault]:
    runs: Counter[tuple[str, object]] = Counter()
    for of_test in _runs_of.values():
        runs.update((path, line) for path, numbers in of_test.lines.items() for line in numbers)
        runs.update((module, name) for module, names in of_test.names.items() for name in names)
    found = [
        (runs[fault.path, fault.line], fault)
        for path, numbers in seen.lines.items()
        if not any(dull in path for dull in _DULL)
        for fault in faults.faults_in(path)
        if fault.line in numbers and fault.broken != "return None"
    ]
    for (path, name), readers in _constants(len(sys.modules)).items():
        if any(name in seen.names.get(reader, ()) for reader in readers):
            count = max(runs[reader, name] for reader in readers)
            found.extend((count, fault) for fault in faults.faults_in(path) if fault.function == faults.CONSTANT + name)
    return [fault for _, fault in sorted(found, key=_how_likely)]


def _how_likely(found: tuple[int, Fault]) -> tuple[int, bool, tuple[Any, ...]]:
    """Of what equally few tests run, what a function does before what a constant is."""
    count, fault = found
    return count, fault.function.startswith(faults.CONSTANT), fault.name


@functools.cache
def _constants(_modules: int) -> dict[tuple[str, str], tuple[str, ...]]:
    """By the file and the name of each constant the modules that know it by this name."""
    found = {}
    for module in [module for module in sys.modules.values() if _is_product(module)]:
        path = module.__file__[len(str(ROOT)) + 1 :]
        if any(dull in path for dull in _DULL):
            continue
        for fault in faults.faults_in(path):
            name = fault.function.removeprefix(faults.CONSTANT)
            if name != fault.function and (path, name) not in found:
                found[path, name] = tuple(each.__name__ for each in faults.knows_constant(fault))
    return found


def _is_product(module: Any) -> bool:
    return (getattr(module, "__file__", None) or "").startswith(faults.PLACES)


def main(arguments: Sequence[str]) -> int:
    act, *named = arguments
    known = proofs()
    if act == "check":
        left = unproven(named or list(known))
    else:
        asked = [name.partition("=") for name in named]
        names = [name for name, _, _ in asked]
        names = names or [name for name in rows() if name not in known or fault_of(known[name]) is None]
        places = {name: place.split(",") for name, _, place in asked if place}
        found = {**find_within(places), **find([name for name in names if name not in places])}
        merged = {name: found.get(name) or known.get(name) for name in rows()}
        told = {name: proof for name, proof in merged.items() if proof is not None}
        PROOFS.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        left = [name for name in names if name not in found]
    print(f"{len(left)} rows without a proof:", *left)
    return min(len(left), 1)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
