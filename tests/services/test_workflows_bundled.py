"""Loading the bundled library: once or often, by one starter or several, the result is the same."""

import json

import pytest

from tests.workflow_cast import FOLDER, NOW, create, document, make_cast

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast():
    return make_cast()


@pytest.fixture
def root(tmp_path):
    for folder in ("steps", "routines", "activities/meta/activities", "activities/meta/skills"):
        (tmp_path / folder).mkdir(parents=True)
    write(tmp_path, "steps/review.json", document("wr.review"))
    write(tmp_path, "routines/look.json", document("wr.routine-look", name="Look"))
    for path, data in FOLDER.items():
        (tmp_path / "activities/meta" / path).write_bytes(data.replace(b"id: team.folder", b"id: meta"))
    return tmp_path


def write(root, path, value):
    (root / path).write_text(json.dumps(value))


def load(root):
    from teams_app.engine.actors import NO_TEAM, Door, system_actor
    from workflows_app.services.bundled import load_bundled

    return load_bundled(actor=system_actor(team_id=NO_TEAM, door=Door.CLI), now=NOW, root=root)


def find(actor, workflow_id):
    from workflows_app.selectors.workflows import find_published

    return find_published(actor=actor, workflow_id=workflow_id)


def test_every_team_sees_what_is_loaded_and_it_runs(cast, root):
    done = load(root)

    assert sorted(done.created) == ["meta", "wr.review", "wr.routine-look"]
    assert done.broken == {}
    for actor in (cast.viewer, cast.charlie):
        assert find(actor, "wr.review").bundled
        assert find(actor, "meta").number == 1


def test_loading_again_changes_nothing(cast, root):
    from workflows_app.models import Revision

    load(root)
    done = load(root)

    assert (done.created, done.revised, done.retired, done.unchanged) == ((), (), (), 3)
    assert Revision.objects.count() == 3


def test_a_change_becomes_a_new_revision_and_is_published(cast, root):
    load(root)
    write(root, "steps/review.json", document("wr.review", name="Better"))

    assert load(root).revised == ("wr.review",)
    assert (find(cast.bob, "wr.review").number, find(cast.bob, "wr.review").title) == (2, "Better")


def test_what_breaks_is_told_and_what_ran_goes_on_to_run(cast, root):
    load(root)
    write(root, "steps/review.json", document("wr.review", steps=[]))
    done = load(root)

    assert list(done.broken) == ["wr.review"]
    assert find(cast.bob, "wr.review").number == 1
    assert load(root).revised == ()


def test_what_is_gone_is_retired_and_comes_back(cast, root):
    from teams_app.engine.errors import PreconditionFailedError

    load(root)
    (root / "steps/review.json").unlink()

    assert load(root).retired == ("wr.review",)
    with pytest.raises(PreconditionFailedError):
        find(cast.bob, "wr.review")
    write(root, "steps/review.json", document("wr.review"))
    load(root)
    assert find(cast.bob, "wr.review").workflow_hash


def test_nobody_but_the_system_loads_it(cast, root):
    from teams_app.engine.errors import ForbiddenError
    from workflows_app.services.bundled import load_bundled

    with pytest.raises(ForbiddenError):
        load_bundled(actor=cast.alice, now=NOW, root=root)


@pytest.mark.parametrize("workflow_id", ["wr.review", "meta"])
def test_a_bundled_workflow_is_changed_by_nobody(cast, root, workflow_id):
    from teams_app.engine.errors import PreconditionFailedError
    from tests.workflow_cast import publish, source_of
    from workflows_app.services import publishing, workflows

    load(root)

    with pytest.raises(PreconditionFailedError, match="bundled"):
        publish(cast.alice, workflow_id)
    with pytest.raises(PreconditionFailedError, match="bundled"):
        publishing.retire_workflow(actor=cast.alice, workflow_id=workflow_id, now=NOW)
    with pytest.raises(PreconditionFailedError, match="bundled"):
        workflows.revise_workflow(
            actor=cast.alice,
            workflow_id=workflow_id,
            source=source_of(document(workflow_id)),
            base_revision=1,
            message="",
            now=NOW,
        )


@pytest.mark.parametrize("workflow_id", ["wr.review", "meta"])
def test_a_bundled_workflow_is_forked_into_a_namespace_of_the_teams_own(cast, root, workflow_id):
    from workflows_app.services import workflows

    load(root)
    saved = workflows.fork_workflow(
        actor=cast.bob, workflow_id=workflow_id, new_id="own.copy", number=None, message="", now=NOW
    )

    assert (saved.workflow.bundled, saved.workflow.forked_from) == (False, f"{workflow_id}@1")
    assert saved.revision.workflow_hash is not None


@pytest.mark.parametrize("workflow_id", ["wr.mine", "meta"])
def test_the_database_itself_keeps_a_team_from_shadowing_the_library(cast, workflow_id):
    from django.db import IntegrityError, transaction

    from workflows_app.models import Workflow

    create(cast.bob)

    with pytest.raises(IntegrityError, match="workflow_id_of_its_library"), transaction.atomic():
        Workflow.objects.update(workflow_id=workflow_id)


def test_a_routine_is_called_by_a_teams_workflow_and_digested_into_its_program(cast, root):
    from workflows_app.selectors.programs import load_program

    load(root)
    call = {"id": "look-first", "title": "Look", "templateCall": {"templateId": "wr.templates.routine.look"}}
    saved = create(cast.bob, "team.caller", steps=[call])

    program = load_program(saved.revision.workflow_hash)
    assert [step.id for step in program.activities[0].body] == ["look-first.read-change", "look-first.write-verdict"]


def test_a_team_calls_its_own_published_routine_by_its_namespace(cast, root):
    from tests.workflow_cast import publish

    call = {"id": "look-first", "title": "Look", "templateCall": {"templateId": "wr.templates.routine.team.look"}}
    create(cast.bob, "team.routine-look")
    before = create(cast.bob, "team.caller", steps=[call])
    publish(cast.bob, "team.routine-look")
    after = create(cast.bob, "team.second-caller", steps=[call])

    assert [problem.code for problem in before.revision.problems] == ["unknown_routine"]
    assert after.revision.workflow_hash is not None
