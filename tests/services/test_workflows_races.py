"""Two at once: each race has one winner, and the others are told."""

import json
import threading

import pytest

from tests.workflow_cast import NOW, create, document, make_cast, publish, source_of

pytestmark = pytest.mark.django_db(transaction=True)

THREADS = 8


@pytest.fixture
def cast():
    return make_cast()


def at_once(*works):
    """Every work in a thread of its own, all let go together; what each gave or raised."""
    from django.db import connection

    barrier = threading.Barrier(len(works))
    results = [None] * len(works)

    def run(index, work):
        try:
            barrier.wait()
            results[index] = work()
        except Exception as error:  # noqa: BLE001  the test looks at it
            results[index] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=item) for item in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def codes(results):
    from teams_app.engine.errors import WorkrailError

    unexpected = [item for item in results if isinstance(item, Exception) and not isinstance(item, WorkrailError)]
    assert unexpected == []
    return [item.code for item in results if isinstance(item, WorkrailError)]


def test_of_many_that_create_one_id_one_does(cast):
    from workflows_app.models import Revision, Workflow

    results = at_once(*[lambda number=number: create(cast.bob, name=f"By {number}") for number in range(THREADS)])

    assert codes(results) == ["PRECONDITION_FAILED"] * (THREADS - 1)
    assert (Workflow.objects.count(), Revision.objects.count()) == (1, 1)


def test_of_many_that_revise_one_base_one_does(cast):
    from workflows_app.models import Revision
    from workflows_app.services import workflows

    create(cast.bob)

    def revise(number):
        return workflows.revise_workflow(
            actor=cast.bob,
            workflow_id="team.review",
            source=source_of(document(name=f"By {number}")),
            base_revision=1,
            message="",
            now=NOW,
        )

    results = at_once(*[lambda number=number: revise(number) for number in range(THREADS)])

    assert codes(results) == ["PRECONDITION_FAILED"] * (THREADS - 1)
    assert sorted(Revision.objects.values_list("number", flat=True)) == [1, 2]


def test_many_that_save_the_same_content_end_with_one_program(cast):
    from workflows_app.models import Blob, Program

    first = lambda: create(cast.bob)  # noqa: E731  a name for a work
    second = lambda: create(cast.charlie)  # noqa: E731  the same
    results = at_once(first, second)

    assert codes(results) == []
    assert (Program.objects.count(), Blob.objects.count()) == (1, 1)


def test_starters_at_once_load_the_library_once(cast, tmp_path):
    from teams_app.engine.actors import NO_TEAM, Door, system_actor
    from workflows_app.models import Revision
    from workflows_app.services.bundled import load_bundled

    (tmp_path / "steps").mkdir()
    for number in range(5):
        (tmp_path / f"steps/w{number}.json").write_text(json.dumps(document(f"wr.w{number}")))
    system = system_actor(team_id=NO_TEAM, door=Door.CLI)
    results = at_once(*[lambda: load_bundled(actor=system, now=NOW, root=tmp_path)] * THREADS)

    assert codes(results) == []
    assert sorted(len(done.created) for done in results) == [0] * (THREADS - 1) + [5]
    assert Revision.objects.count() == 5


def test_bindings_of_two_slots_at_once_are_both_in_what_runs(cast):
    from workflows_app.selectors.programs import load_program
    from workflows_app.selectors.workflows import find_published
    from workflows_app.services import extensions

    for name in ("first", "second"):
        create(cast.bob, f"team.routine-{name}", name=name)
        publish(cast.bob, f"team.routine-{name}")
    points = [{"slotId": slot, "purpose": "Look", "default": "team.routine-first"} for slot in ("left", "right")]
    prompt = "Run {{wr.bindings.left}}, then {{wr.bindings.right}}."
    create(
        cast.bob,
        "team.slotted",
        extensionPoints=points,
        steps=[{"id": "look-at-it", "title": "Look", "prompt": prompt}],
    )
    publish(cast.bob, "team.slotted")

    def bind(slot):
        return extensions.bind_slot(
            actor=cast.bob, workflow_id="team.slotted", slot=slot, routine="team.routine-second", now=NOW
        )

    assert codes(at_once(lambda: bind("left"), lambda: bind("right"))) == []
    found = find_published(actor=cast.bob, workflow_id="team.slotted")
    points = load_program(found.workflow_hash).extension_points
    assert {point.bound_to for point in points} == {"team.routine-second"}
