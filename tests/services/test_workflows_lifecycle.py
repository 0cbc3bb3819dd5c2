"""Create, revise, publish, retire, fork: what runs, who may decide it, and what is kept."""

import json

import pytest

from tests.workflow_cast import NOW, create, document, make_cast, publish, source_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast():
    return make_cast()


def revise(actor, base, workflow_id="team.review", **changes):
    from workflows_app.services import workflows

    return workflows.revise_workflow(
        actor=actor,
        workflow_id=workflow_id,
        source=source_of(document(workflow_id, **changes)),
        base_revision=base,
        message="",
        now=NOW,
    )


def audited(actor):
    from teams_app.models import AuditEntry

    rows = AuditEntry.objects.filter(team_id=actor.team_id).order_by("id")
    return [(row.action, row.details) for row in rows if row.action.startswith(("workflow.", "alias."))]


def test_a_created_workflow_is_a_draft_with_its_first_revision(cast):
    from workflows_app.engine.values import WorkflowState

    saved = create(cast.bob)

    assert saved.created
    assert saved.workflow.state is WorkflowState.DRAFT
    assert (saved.workflow.title, saved.workflow.latest_number) == ("Review a change", 1)
    assert saved.revision.workflow_hash.startswith("sha256:")
    assert audited(cast.alice) == [("workflow.created", {"workflowId": "team.review", "revision": 1})]


def test_the_source_is_kept_byte_for_byte(cast):
    from workflows_app.engine.source import Source, SourceFormat
    from workflows_app.selectors.sources import read_source
    from workflows_app.services import workflows

    data = json.dumps(document(), indent=7).replace('"Review', '"\\u0052eview').encode() + b"\n\n"
    source = Source(format=SourceFormat.STEPS_JSON, files={"odd name.json": data})
    workflows.create_workflow(actor=cast.bob, source=source, message="", now=NOW)

    assert read_source(actor=cast.bob, workflow_id="team.review").files == {"odd name.json": data}


def test_a_draft_does_not_run(cast):
    from teams_app.engine.errors import PreconditionFailedError
    from workflows_app.selectors.workflows import find_published

    create(cast.bob)

    with pytest.raises(PreconditionFailedError) as refusal:
        find_published(actor=cast.bob, workflow_id="team.review")
    assert refusal.value.details["state"] == "draft"


def test_a_published_workflow_runs_with_the_program_that_was_saved(cast):
    from workflows_app.selectors.programs import load_program
    from workflows_app.selectors.workflows import find_published

    saved = create(cast.bob)
    publish(cast.bob)

    found = find_published(actor=cast.agent, workflow_id="team.review")
    assert found.workflow_hash == saved.revision.workflow_hash
    assert load_program(found.workflow_hash).id == "team.review"


@pytest.mark.parametrize("who", ["viewer", "agent", "reader"])
def test_only_an_author_publishes_and_no_key_ever(cast, who):
    from teams_app.engine.errors import ForbiddenError

    create(cast.bob)

    with pytest.raises(ForbiddenError):
        publish(getattr(cast, who))


@pytest.mark.parametrize("who", ["viewer", "reader"])
def test_a_reader_creates_nothing(cast, who):
    from teams_app.engine.errors import ForbiddenError
    from workflows_app.models import Workflow

    with pytest.raises(ForbiddenError):
        create(getattr(cast, who))
    assert not Workflow.objects.exists()


def test_an_agent_key_may_create_a_draft(cast):
    assert create(cast.agent).revision.author_name == "a key"


def test_a_new_revision_does_not_run_until_it_is_published(cast):
    from workflows_app.selectors.workflows import find_published

    create(cast.bob)
    publish(cast.bob)
    before = find_published(actor=cast.bob, workflow_id="team.review")
    revise(cast.bob, base=1, name="Review it well")

    assert find_published(actor=cast.bob, workflow_id="team.review").workflow_hash == before.workflow_hash
    publish(cast.bob, number=2)
    assert find_published(actor=cast.bob, workflow_id="team.review").number == 2


def test_an_older_revision_can_be_published_again(cast):
    create(cast.bob)
    revise(cast.bob, base=1, name="Worse")
    publish(cast.bob, number=2)

    done = publish(cast.bob, number=1)

    assert (done.workflow.published_number, done.workflow.title) == (1, "Review a change")


def test_a_revision_on_an_old_base_is_refused(cast):
    from teams_app.engine.errors import PreconditionFailedError

    create(cast.bob)
    revise(cast.bob, base=1, name="First")

    with pytest.raises(PreconditionFailedError) as refusal:
        revise(cast.alice, base=1, name="Second")
    assert refusal.value.details == {"latestRevision": 2}


def test_the_same_source_is_not_saved_twice(cast):
    from workflows_app.models import Revision

    create(cast.bob)
    saved = revise(cast.bob, base=1)

    assert not saved.created
    assert Revision.objects.count() == 1


def test_a_revision_keeps_the_id(cast):
    from teams_app.engine.errors import InvalidInputError
    from workflows_app.services import workflows

    create(cast.bob)

    with pytest.raises(InvalidInputError, match=r"team\.other"):
        workflows.revise_workflow(
            actor=cast.bob,
            workflow_id="team.review",
            source=source_of(document("team.other")),
            base_revision=1,
            message="",
            now=NOW,
        )


def test_a_broken_draft_is_saved_and_says_so_where_it_is_listed(cast):
    from teams_app.engine.pages import PageRequest
    from workflows_app.selectors.workflows import WorkflowFilters, list_workflows

    create(cast.bob, steps=[])

    (listed,) = list_workflows(actor=cast.viewer, filters=WorkflowFilters(), page=PageRequest()).items
    assert listed.error_count > 0


def test_a_broken_revision_is_not_published(cast):
    from teams_app.engine.errors import PreconditionFailedError

    create(cast.bob, steps=[])

    with pytest.raises(PreconditionFailedError) as refusal:
        publish(cast.bob)
    assert refusal.value.details["problems"][0]["code"] == "too_short"


def test_publishing_shows_what_changes_in_source_and_program(cast):
    from workflows_app.engine.values import Change

    create(cast.bob)
    publish(cast.bob)
    revise(cast.bob, base=1, name="Review it well")

    done = publish(cast.bob, number=2)

    assert done.diff.base == 1
    assert "+" in done.diff.files[0].text
    (changed,) = (item for item in done.diff.program if item.path == "title")
    assert (changed.change, changed.before, changed.after) == (Change.CHANGED, "Review a change", "Review it well")


def test_publishing_against_another_base_than_the_one_compared_is_refused(cast):
    from teams_app.engine.errors import PreconditionFailedError
    from workflows_app.services import publishing

    create(cast.bob)
    revise(cast.bob, base=1, name="Other")
    publish(cast.alice, number=2)

    with pytest.raises(PreconditionFailedError) as refusal:
        publishing.publish_revision(actor=cast.bob, workflow_id="team.review", number=1, base=0, now=NOW)
    assert refusal.value.details == {"publishedRevision": 2}


def test_publishing_twice_is_recorded_once(cast):
    create(cast.bob)
    publish(cast.bob)
    publish(cast.bob)

    assert sorted(action for action, _ in audited(cast.alice)) == ["workflow.created", "workflow.published"]


def test_a_retired_workflow_starts_no_runs_and_keeps_its_programs(cast):
    from teams_app.engine.errors import PreconditionFailedError
    from workflows_app.selectors.programs import clear_caches, load_program
    from workflows_app.selectors.workflows import find_published
    from workflows_app.services import publishing

    saved = create(cast.bob)
    publish(cast.bob)
    publishing.retire_workflow(actor=cast.bob, workflow_id="team.review", now=NOW)
    clear_caches()

    with pytest.raises(PreconditionFailedError):
        find_published(actor=cast.bob, workflow_id="team.review")
    assert load_program(saved.revision.workflow_hash).title == "Review a change"


def test_a_retired_workflow_comes_back_by_publishing(cast):
    from workflows_app.engine.values import WorkflowState
    from workflows_app.services import publishing

    create(cast.bob)
    publish(cast.bob)
    publishing.retire_workflow(actor=cast.bob, workflow_id="team.review", now=NOW)

    assert publish(cast.bob).workflow.state is WorkflowState.PUBLISHED


def test_a_draft_is_not_retired(cast):
    from teams_app.engine.errors import PreconditionFailedError
    from workflows_app.services import publishing

    create(cast.bob)

    with pytest.raises(PreconditionFailedError):
        publishing.retire_workflow(actor=cast.bob, workflow_id="team.review", now=NOW)


@pytest.mark.parametrize(
    ("workflow_id", "suggested"),
    [
        ("review", "team.review"),
        ("wr.review", "team.review"),
        ("a.b.c", "team.a-b-c"),
        ("Team.Review", "team.team-review"),
        ("team.", "team.workflow"),
    ],
)
def test_an_id_that_a_team_cannot_have_is_refused_with_one_that_it_can(cast, workflow_id, suggested):
    from teams_app.engine.errors import InvalidInputError
    from workflows_app.models import Workflow

    with pytest.raises(InvalidInputError) as refusal:
        create(cast.bob, workflow_id)
    assert refusal.value.details["suggestedId"] == suggested
    assert not Workflow.objects.exists()


def test_a_taken_id_is_refused(cast):
    from teams_app.engine.errors import PreconditionFailedError

    create(cast.bob)

    with pytest.raises(PreconditionFailedError, match="already"):
        create(cast.alice)


def test_two_teams_may_use_the_same_id(cast):
    create(cast.bob)

    assert create(cast.charlie, name="Another").workflow.title == "Another"


def test_another_teams_workflow_is_the_same_as_none(cast):
    from teams_app.engine.errors import NotFoundError
    from workflows_app.selectors.details import read_workflow

    create(cast.bob)

    with pytest.raises(NotFoundError) as theirs:
        read_workflow(actor=cast.charlie, workflow_id="team.review")
    with pytest.raises(NotFoundError) as nobodys:
        read_workflow(actor=cast.charlie, workflow_id="team.nothing")
    assert theirs.value.message.replace("review", "nothing") == nobodys.value.message
    assert theirs.value.suggestion == nobodys.value.suggestion


def test_a_fork_has_another_id_and_remembers_its_origin(cast):
    from workflows_app.selectors.sources import read_source
    from workflows_app.services import workflows

    create(cast.bob)
    publish(cast.bob)
    saved = workflows.fork_workflow(
        actor=cast.agent, workflow_id="team.review", new_id="own.review", number=None, message="ours", now=NOW
    )

    assert saved.workflow.forked_from == "team.review@1"
    assert saved.revision.workflow_hash is not None
    data = read_source(actor=cast.bob, workflow_id="own.review").files["workflow.json"]
    assert json.loads(data) == document("own.review")


@pytest.mark.parametrize("new_id", ["wr.review", "review", "Own.review", "own.review.two"])
def test_a_fork_gets_an_id_of_the_teams_own(cast, new_id):
    from teams_app.engine.errors import InvalidInputError
    from workflows_app.services import workflows

    create(cast.bob)

    with pytest.raises(InvalidInputError):
        workflows.fork_workflow(
            actor=cast.bob, workflow_id="team.review", new_id=new_id, number=None, message="", now=NOW
        )


def test_a_fork_of_a_strict_workflow_stays_strict(cast):
    """A namespaced id would make a document of the first schema one of the second, were it not remembered."""
    from workflows_app.engine.program import ConditionMode
    from workflows_app.engine.source import StepsSchema
    from workflows_app.selectors.programs import load_program
    from workflows_app.services import workflows

    workflows.create_workflow(
        actor=cast.bob, source=source_of(document(), schema=StepsSchema.V0_0_1), message="", now=NOW
    )
    saved = workflows.fork_workflow(
        actor=cast.bob, workflow_id="team.review", new_id="own.review", number=None, message="", now=NOW
    )

    assert load_program(saved.revision.workflow_hash).conditions is ConditionMode.STRICT


def test_validating_saves_nothing(cast):
    from workflows_app.models import Program, Workflow
    from workflows_app.services import workflows

    checked = workflows.validate_source(actor=cast.reader, source=source_of(document("review")))

    assert checked.workflow_hash is not None
    assert [problem.code for problem in checked.problems] == ["legacy_id"]
    assert not Workflow.objects.exists()
    assert not Program.objects.exists()


@pytest.mark.parametrize(
    "files",
    [{}, {"a.json": b"{"}, {"a.json": b"[]"}, {"a.json": b'{"id": 7}'}, {"a.json": b"\x00"}, {"a.json": b"{}"}],
)
def test_what_says_no_id_is_not_saved(cast, files):
    from teams_app.engine.errors import InvalidInputError
    from workflows_app.engine.source import Source, SourceFormat
    from workflows_app.models import Workflow
    from workflows_app.services import workflows

    with pytest.raises(InvalidInputError):
        workflows.create_workflow(
            actor=cast.bob, source=Source(format=SourceFormat.STEPS_JSON, files=files), message="", now=NOW
        )
    assert not Workflow.objects.exists()


def test_what_is_published_lately_is_what_a_start_would_be_pinned_to(cast, django_assert_num_queries):
    from teams_app.engine.errors import NotFoundError, PreconditionFailedError
    from teams_app.services.ids import new_id
    from workflows_app.models import Alias, Workflow
    from workflows_app.selectors.publications import read_publication
    from workflows_app.selectors.workflows import find_published
    from workflows_app.services import publishing

    def found(workflow_id):
        try:
            published = find_published(actor=cast.bob, workflow_id=workflow_id)
        except (NotFoundError, PreconditionFailedError):
            return None
        return published.workflow_hash, published.version

    def lately(workflow_id):
        with django_assert_num_queries(1):
            publication = read_publication(actor=cast.bob, workflow_id=workflow_id)
        return publication and (publication.workflow_hash, publication.version)

    for name in ("team.draft", "team.one", "team.two", "team.gone"):
        create(cast.bob, name, name=f"Name of {name}")
    for name in ("team.one", "team.two", "team.gone"):
        publish(cast.bob, name)
    publishing.retire_workflow(actor=cast.bob, workflow_id="team.gone", now=NOW)
    create(cast.charlie, "own.secret")
    two = Workflow.objects.get(workflow_id="team.two")
    for alias in ("old-name", "team.one"):
        Alias.objects.create(id=new_id(now=NOW), team_id=cast.bob.team_id, alias=alias, workflow=two, created_at=NOW)

    names = ("team.draft", "team.one", "team.two", "team.gone", "old-name", "own.secret", "team.none")
    assert [lately(name) for name in names] == [found(name) for name in names]
    assert sum(lately(name) is not None for name in names) == 3
