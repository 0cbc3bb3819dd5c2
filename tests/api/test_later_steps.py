"""Which steps come later is for authors and people: no operation of REST that reads tells it to a key that only reads and drives."""

import gzip
import re
from datetime import timedelta

import pytest
from django.test import Client

from sessions_app.models import BundleJob, Node
from sessions_app.services.bundles.bundle_jobs import ask_to_export, run_bundle_job
from teams_app.engine.actors import NO_TEAM, Door, Scope, system_actor
from teams_app.engine.ids import to_text
from tests.activity_folders import activity, folder, step as folder_step, workflow as folder_of
from tests.api.test_who_is_let_in import KINDS, STREAM, WORDS, filled, operations
from tests.cast import Api, issue
from tests.checkpoint_cast import publish_folder
from tests.furnished import furnish
from tests.run_cast import plain_steps, run_id, session_id, source_of, start
from tests.run_doors import enrol
from tests.step_documents import workflow
from tests.workflow_cast import NOW, publish
from workflows_app.services import workflows

pytestmark = pytest.mark.django_db(transaction=True)

DRIVES = frozenset(Scope) - {Scope.WORKFLOWS_WRITE}
LATER = "quokkalater"
# Each way to ask for more of a workflow, or for another form.
ASKED = (
    "",
    "?include=source",
    "?include=program",
    "?include=history",
    "?revision=1",
    "?revision=2&base=1",
    "?form=html",
)


def hidden(**more):
    """The first step tells nothing of what comes; all that comes has the word, and something to be warned of."""
    inner = {"id": f"{LATER}-in", "title": LATER, "prompt": f"{LATER} {{{{{LATER}_odd}}}}", "notesOptional": True}
    later = [
        {"id": f"{LATER}-loop", "type": "loop", "title": LATER, "body": [inner], "loop": {
            "type": "forEach", "items": f"{LATER}_items", "itemVar": f"{LATER}_item", "maxIterations": 3}},
        {"id": f"{LATER}-last", "title": LATER, "prompt": LATER, "notesOptional": True,
         "runCondition": {"var": f"{LATER}_flag", "equals": "true"}, **more},
    ]  # fmt: skip
    return workflow(*plain_steps(1), *later, id="team.hidden")


@pytest.fixture
def driven(settings):
    """A run at its first step, of a workflow whose draft has errors, and an export of its session."""
    settings.CELERY_TASK_ALWAYS_EAGER = False
    own = furnish("own-person")
    desk = own.desk
    enrol(desk.owner)
    workflows.create_workflow(actor=desk.person, source=source_of(hidden()), message="", now=NOW)
    publish(desk.person, "team.hidden", 1)
    begun = start(desk, "team.hidden").value
    broken = source_of(hidden(agentRole=7, **{f"{LATER}_key": 1}))
    workflows.revise_workflow(
        actor=desk.person, workflow_id="team.hidden", source=broken, base_revision=1, message="", now=NOW
    )
    job = ask_to_export(actor=desk.person, session_id=session_id(begun), now=NOW).id
    run_bundle_job(actor=system_actor(team_id=NO_TEAM, door=Door.TASK), job_id=job, now=NOW)
    BundleJob.objects.filter(pk=job).update(expires_at=NOW + timedelta(days=9999))
    node = Node.objects.get(run_id=run_id(begun)).pk
    rows = own.rows | {"run": run_id(begun), "session": session_id(begun), "node": node, "job": job}
    return desk, WORDS | {name: to_text(prefix, rows[name]) for name, prefix in KINDS.items()} | {
        "workflow": "team.hidden"
    }


def told(response):
    body = b"".join(response) if response.streaming else response.content
    return (gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body).decode()


def test_no_operation_that_reads_tells_a_later_step(driven, settings):
    settings.THROTTLE_ACTOR_PER_MINUTE = settings.THROTTLE_TEAM_PER_MINUTE = 0
    desk, ids = driven
    driver, author = (
        Api(Client(), Authorization=f"Bearer {issue(desk.owner, scopes=scopes).text}")
        for scopes in (DRIVES, frozenset(Scope))
    )
    read = [path for method, path in operations() if method == "GET" and not path.endswith(STREAM)]
    places = [f"{filled(path, ids)}{asked}" for path in read for asked in ASKED]

    found = [place for place in places if LATER in told(driver.get(place))]

    assert found == []
    # The same operations tell them to an author's.
    shown = {re.sub(r"\?.*", "", place).rpartition("/")[2] for place in places if LATER in told(author.get(place))}
    assert shown >= {"team.hidden", "diff", "export", "revisions", "file"}


def taking():
    """Sources of one's own that take something from the workflows which have later steps: a routine, and a folder."""
    call = {"id": "call", "title": "Call"}
    about = folder_of(id="team.mine", initialActivity="mine")
    mine = activity("mine", steps=[folder_step("a")])
    for arguments in ({}, {"odd": "1"}, {f"{LATER}_word": "{{odd}}"}):
        called = {**call, "templateCall": {"templateId": "wr.templates.routine.hidden", "args": arguments}}
        yield {"definition": workflow(called, id="team.mine")}
    for listed in ("team.folder/01-plan.toon", "team.folder/odd.toon"):
        files = folder(mine, about={**about, "activities": [listed]})
        yield {"files": {path: text.decode() for path, text in files.items()}}


def test_no_check_of_a_source_tells_what_is_in_others(driven):
    desk, _ = driven
    routine = workflow(*hidden()["steps"], id="team.routine-hidden")
    routine["steps"][-1]["prompt"] = f"{{{LATER}_word}} {{{{{LATER}_odd}}}}"
    workflows.create_workflow(actor=desk.person, source=source_of(routine), message="", now=NOW)
    publish(desk.person, "team.routine-hidden", 1)
    plan = activity("plan", steps=[folder_step(LATER)], transitions=[{"to": LATER}])
    files = folder(
        plan, activity(LATER, steps=[folder_step("b")]), about=folder_of(id="team.folder", initialActivity="plan")
    )
    publish_folder(desk, files, "team.folder")
    reader, author = (
        Api(Client(), Authorization=f"Bearer {issue(desk.owner, scopes=frozenset(scopes)).text}")
        for scopes in ({Scope.WORKFLOWS_READ}, set(Scope))
    )

    for source in taking():
        seen, shown = (api.post("/api/v1/workflows/validate", source) for api in (reader, author))
        # The argument that a routine asks for is what a caller has to know.
        said = [{**each, "path": "", "message": each["message"].split(" (")[0]} for each in seen.json()["problems"]]
        said = [each for each in said if each["code"] != "missing_argument"]
        assert LATER not in str(said), said
        assert seen.json()["valid"] is shown.json()["valid"]
        assert LATER in shown.content.decode(), shown.content
        assert {each["code"] for each in seen.json()["problems"]} == {each["code"] for each in shown.json()["problems"]}


def test_a_key_that_only_drives_asks_for_no_export(driven):
    desk, ids = driven
    driver = Api(Client(), Authorization=f"Bearer {issue(desk.owner, scopes=DRIVES).text}")

    refused = driver.post(f"/api/v1/sessions/{ids['session']}/export", {})

    assert (refused.status_code, refused.json()["code"]) == (403, "FORBIDDEN")
    assert Scope.WORKFLOWS_WRITE.value in refused.json()["details"]["suggestion"]
