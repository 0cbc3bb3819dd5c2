"""An activity may have a name that elsewhere ends the run: every dialect goes into it, and ends behind it."""

import pytest

from sessions_app.engine.runs import RunStatus
from sessions_app.models import Run
from tests.activity_folders import activity, equals, folder, step, workflow
from tests.checkpoint_cast import publish_folder
from tests.matrix_play import DIALECTS, Script, read_log, steps_of, story_of
from tests.run_cast import make_desk
from workflows_app.engine.walker import TERMINAL_TARGETS
from workflows_app.selectors.sources import read_program

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("name", sorted(TERMINAL_TARGETS))
@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_activity_called_like_the_end_is_walked(dialect, name):
    back = [{"to": "plan", "condition": equals("again", "yes")}]
    files = folder(
        activity("plan", steps=[step("draft")], transitions=[{"to": name, "isDefault": True}]),
        activity(name, steps=[step("close")], transitions=back),
        about=workflow(initialActivity="plan"),
    )
    desk = make_desk()
    workflow_id = publish_folder(desk, files)
    program = read_program(actor=desk.person, workflow_id=workflow_id)

    run, warnings = DIALECTS[dialect](desk, workflow_id, program, Script())

    assert read_log(run, program).keys == [deed.key for deed in steps_of(story_of(program, Script()))]
    assert (warnings, Run.objects.get(pk=run.pk).status) == ([], RunStatus.COMPLETE)
