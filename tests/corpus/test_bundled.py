"""The bundled library as a whole: it compiles without a word, walks to its end, and loads once."""

import re
from pathlib import Path

import pytest

NAMES = {
    "meta",
    "work-package",
    "work-packages",
    "wr.bug-investigation",
    "wr.code-review",
    "wr.documentation",
    "wr.feature-delivery",
    "wr.incident-response",
    "wr.refactoring",
    "wr.research",
    "wr.test-writing",
    "wr.ticket-writing",
    "wr.workflow-authoring",
}
ROOT = Path(__file__).resolve().parents[2] / "workflows_app" / "bundled"
FILES = sorted(
    [*(path.stem for path in ROOT.glob("steps/*.json")), *(path.stem for path in ROOT.glob("routines/*.json"))]
    + [path.name for path in ROOT.glob("activities/*") if path.is_dir()]
)


@pytest.fixture(scope="module")
def compiled():
    from workflows_app.selectors.bundled import read_bundled
    from workflows_app.services.compiling import compile_with

    bundled = read_bundled()
    return {key: compile_with(source=source, library=bundled.library) for key, source in bundled.sources.items()}


def test_every_file_is_a_workflow_and_the_promised_ones_are_there(compiled):
    assert len(compiled) == len(FILES)
    assert set(compiled) >= NAMES
    assert sum(key.startswith("wr.routine-") for key in compiled) >= 4


def test_each_compiles_without_an_error_or_a_warning(compiled):
    said = {key: [problem.message for problem in item.problems] for key, item in compiled.items() if item.problems}

    assert said == {}


def test_each_is_reached_by_an_id_that_the_library_alone_may_have(compiled):
    own = re.compile(r"wr\.[a-z][a-z0-9_-]*|[a-z0-9_-]+")

    assert all(own.fullmatch(key) for key in compiled)


def test_each_folder_walks_to_its_end_and_the_rest_stops_only_for_an_answer(compiled):
    """Which answers lead the step workflows to their end is told in their own tests."""
    from workflows_app.engine.simulate import SimulatedOutcome, simulate
    from workflows_app.engine.source import SourceFormat
    from workflows_app.engine.walker import FailureKind

    for key, item in compiled.items():
        walked = simulate(program=item.program, variables=_lists(item.program), answers={}, max_steps=1_000)
        if item.source.format is SourceFormat.ACTIVITY_FOLDER or walked.failure is None:
            assert walked.outcome is SimulatedOutcome.COMPLETE, key
        else:
            assert (walked.failure.kind, bool(walked.failure.keys)) == (FailureKind.MAX_ITERATIONS, True), key


def test_what_a_program_attaches_is_delivered_with_it(compiled):
    for item in compiled.values():
        program = item.program
        attached = {part.digest for part in (*program.skills, *program.resources, *program.templates)}
        assert attached <= {content.digest for content in item.contents}


@pytest.mark.django_db
def test_it_loads_once_and_stays_the_same():
    from teams_app.engine.actors import NO_TEAM, Door, system_actor
    from tests.workflow_cast import NOW
    from workflows_app.models import ProgramContent, Workflow
    from workflows_app.services.bundled import load_bundled

    system = system_actor(team_id=NO_TEAM, door=Door.CLI)
    first = load_bundled(actor=system, now=NOW)
    second = load_bundled(actor=system, now=NOW)

    assert (len(first.created), first.broken) == (len(FILES), {})
    assert (second.created, second.revised, second.retired) == ((), (), ())
    assert Workflow.objects.filter(published__isnull=False).count() == len(FILES)
    assert ProgramContent.objects.exists()


def _lists(program):
    """For each list that a loop goes through, one item."""
    from workflows_app.engine.program import Loop, walk_items

    items = (item for activity in program.activities for item in walk_items(activity.body))
    return {loop.items[0]: ["one"] for loop in items if isinstance(loop, Loop) and len(loop.items) == 1}
