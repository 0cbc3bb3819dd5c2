"""The page on the architecture says what is so: its files are there, and its two calls go by its hops."""

import re
import sys
from pathlib import Path

import pytest

from tests.activity_folders import activity, folder, step, workflow
from tests.checkpoint_cast import publish_folder
from tests.handover_play import Caller
from tests.run_cast import begin, make_desk, plain_steps

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
# Before the tool there is the transport.
OF_THE_TRANSPORT = {"workrail_site/mcp/door.py", "workrail_site/mcp/exchange.py", "workrail_site/mcp/toolsets.py"}


def named_files():
    return re.findall(r"`([a-z_]+(?:/[a-z_]+)*\.py)`", PAGE)


def hops(heading):
    """The file of each hop with its function, where it names one after a colon, or the files of which one is passed."""
    section = PAGE.partition(f"## {heading}")[2].partition("\n## ")[0]
    for line in re.findall(r"^\d+\. .*(?:\n   +.*)*", section, re.MULTILINE):
        told = re.findall(r"`([a-z_]+(?:/[a-z_]+)+\.py)`(?:: `([\w.]+)`)?", line)
        yield [f"{name}:{function}" if function else name for name, function in told]


def test_every_file_that_is_named_is_there():
    rooms = ("", "sessions_app", "workrail_site", "workrail_site/dialects")
    missing = [name for name in named_files() if not any((ROOT / room / name).is_file() for room in rooms)]

    # Each app and each dialect has files of these names.
    assert set(missing) <= {"tools.py", "parameters.py", "activities/speech.py"}


def passed_by(call):
    """The files and functions of ours in the order in which a call enters them first."""
    found = {}

    def enter(frame, event, _argument):
        if event == "call" and frame.f_code.co_filename.startswith(f"{ROOT}/"):
            name = frame.f_code.co_filename.removeprefix(f"{ROOT}/")
            found.setdefault(name, len(found))
            found.setdefault(f"{name}:{frame.f_code.co_qualname}", len(found))

    sys.setprofile(enter)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


@pytest.fixture
def desk():
    return make_desk()


@pytest.mark.django_db(transaction=True)
def test_a_call_of_the_rail_goes_by_its_hops(desk):
    value, agent = begin(desk, *plain_steps(3)), Caller("rail", desk.agent)
    tokens = {name: value[name] for name in ("stateToken", "ackToken")}

    passed = passed_by(lambda: agent("continue_workflow", **tokens, output={"notesMarkdown": "Did it."}))

    wanted = [names[0] for names in hops("One rail call") if names[0] not in OF_THE_TRANSPORT]
    assert set(wanted) <= set(passed)
    assert wanted == sorted(wanted, key=passed.get)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("dialect", ["session", "orchestrator"])
def test_a_handed_over_call_goes_by_its_hops(desk, dialect):
    plan, build = activity("plan", steps=[step("draft")], transitions=[{"to": "build"}]), activity("build")
    publish_folder(desk, folder(plan, build, about=workflow(initialActivity="plan")), "team.plan")
    agent = Caller(dialect, desk.agent)
    token = agent("start_session", workflow_id="team.plan", agent_id="agent")["session_token"]
    token = agent("next_activity", session_token=token, activity_id="plan")["session_token"]
    manifest = [{"step_id": "draft", "output": "Did it."}]

    passed = passed_by(lambda: agent("next_activity", session_token=token, activity_id="build", step_manifest=manifest))

    for names in hops("One handed-over call"):
        assert set(names) & set(passed), names
