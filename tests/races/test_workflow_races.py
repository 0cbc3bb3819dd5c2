"""Workflows of new ids that several save or import at once: each is told what came of it, and nobody is thrown out."""

import contextlib
import json
from functools import partial

import pytest

from teams_app.engine.errors import NotFoundError, PreconditionFailedError
from tests.crews import hiring
from tests.workflow_cast import NOW, document, source_of
from workflows_app.models import Alias, Revision, Workflow
from workflows_app.services.extensions import remove_alias, set_alias
from workflows_app.services.importing import ImportOptions, import_files
from workflows_app.services.publishing import publish_revision
from workflows_app.services.workflows import create_workflow, fork_workflow

pytestmark = pytest.mark.django_db(transaction=True)

TURNS = 8

crew = pytest.fixture(hiring)


def create(actor, workflow_id):
    return create_workflow(actor=actor, source=source_of(document(workflow_id)), message="", now=NOW)


def bring(actor, *workflow_ids, **options):
    files = {f"{name}.json": json.dumps(document(name)).encode() for name in workflow_ids}
    return import_files(actor=actor, files=files, options=ImportOptions(**options), now=NOW)


def publish(actor, workflow_id):
    """Saved and published; where somebody else has saved it, theirs is published."""
    with contextlib.suppress(PreconditionFailedError):
        create(actor, workflow_id)
    return publish_revision(actor=actor, workflow_id=workflow_id, number=1, base=None, now=NOW)


def fork(actor, workflow_id):
    return fork_workflow(actor=actor, workflow_id="team.base", new_id=workflow_id, number=None, message="", now=NOW)


def refused(results):
    """What was not done; each is a refusal that says why."""
    raised = [each for each in results if isinstance(each, BaseException)]
    assert [each for each in raised if not isinstance(each, PreconditionFailedError)] == []
    return raised


def test_imports_and_new_workflows_of_the_same_ids_wait_for_each_other(house, crew):
    actor, hands = house.alice.actor, crew(6)
    create(actor, "team.base")
    for turn in range(TURNS):
        one, two, three = (f"team.{name}-{turn}" for name in ("one", "two", "three"))

        results = hands.race(
            partial(bring, actor, one, two, three),
            partial(bring, actor, three, two, one),
            partial(create, actor, two),
            partial(publish, actor, three),
            partial(publish, actor, three),
            partial(fork, actor, one),
        )

        refused(results)
        found = Workflow.objects.filter(team_id=house.team.pk, workflow_id__in=[one, two, three])
        assert found.count() == 3
        assert {row.latest_number for row in found} <= {1, 2, 3}


def test_imports_of_the_same_files_at_once_save_them_once(house, crew):
    actor, hands = house.alice.actor, crew(3)
    for turn in range(TURNS):
        ids = [f"team.{name}-{turn}" for name in ("one", "two")]

        results = hands.race(
            partial(bring, actor, *ids), partial(bring, actor, *ids[::-1]), partial(bring, actor, *ids)
        )

        assert refused(results) == []
        assert Revision.objects.filter(workflow__workflow_id__in=ids).count() == 2
        assert sorted(each.created for done in results for each in done.workflows) == [False] * 4 + [True] * 2


def test_an_old_name_that_an_import_keeps_and_people_set_and_remove_is_nobodys_deadlock(house, crew):
    actor, hands = house.alice.actor, crew(4)
    create(actor, "team.base")
    for turn in range(TURNS):
        old = f"old-{turn}"

        def remove(alias=old):
            with contextlib.suppress(NotFoundError):
                remove_alias(actor=actor, alias=alias, now=NOW)

        results = hands.race(
            partial(bring, actor, old, "team.beside", rename=True),
            partial(set_alias, actor=actor, alias=old, workflow_id="team.base", now=NOW),
            remove,
            partial(bring, actor, "team.beside", old, rename=True),
        )

        assert refused(results) == []
        assert Workflow.objects.filter(team_id=house.team.pk, workflow_id=f"team.{old}").count() == 1
        assert Alias.objects.filter(team_id=house.team.pk, alias=old).count() <= 1
