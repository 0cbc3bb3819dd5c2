"""Aliases, contracts and bindings: what a team adds, and what it changes in the programs that run."""

import json

import pytest

from tests.workflow_cast import NOW, create, document, make_cast, publish, source_of

pytestmark = pytest.mark.django_db

SLOTTED = {
    "extensionPoints": [
        {
            "slotId": "look",
            "purpose": "How to look at it",
            "default": "team.routine-first",
            "acceptedKinds": ["routine"],
        },
    ],
    "steps": [
        {"id": "look-at-it", "title": "Look", "prompt": "Run {{wr.bindings.look}} on the change and keep its result."},
    ],
}


@pytest.fixture
def cast():
    return make_cast()


@pytest.fixture
def slotted(cast):
    for name in ("first", "second"):
        create(cast.bob, f"team.routine-{name}", name=name)
        publish(cast.bob, f"team.routine-{name}")
    create(cast.bob, "team.slotted", **SLOTTED)
    publish(cast.bob, "team.slotted")
    return cast


def bind(actor, routine="team.routine-second", workflow_id="team.slotted", slot="look"):
    from workflows_app.services import extensions

    return extensions.bind_slot(actor=actor, workflow_id=workflow_id, slot=slot, routine=routine, now=NOW)


def unbind(actor, workflow_id="team.slotted"):
    from workflows_app.services import extensions

    extensions.unbind_slot(actor=actor, workflow_id=workflow_id, slot="look", now=NOW)


def bound_to(actor, workflow_id="team.slotted"):
    from workflows_app.selectors.programs import load_program
    from workflows_app.selectors.publications import read_publication
    from workflows_app.selectors.workflows import find_published

    workflow_hash = find_published(actor=actor, workflow_id=workflow_id).workflow_hash
    assert read_publication(actor=actor, workflow_id=workflow_id).workflow_hash == workflow_hash
    return load_program(workflow_hash).extension_points[0].bound_to


def register(actor, contract_id="team.contracts.finding", **changes):
    from workflows_app.services import extensions

    given = {
        "artifact_kind": "team.finding",
        "schema": {
            "type": "object",
            "properties": {"kind": {"const": "team.finding"}, "level": {"enum": ["low", "high"]}},
            "required": ["kind", "level"],
        },
        "example": {"kind": "team.finding", "level": "low"},
        "summary": "One finding",
    } | changes
    return extensions.register_contract(actor=actor, contract_id=contract_id, now=NOW, **given)


def test_an_alias_leads_to_the_workflow_until_it_is_removed(cast):
    from teams_app.engine.errors import NotFoundError
    from workflows_app.selectors.workflows import find_published
    from workflows_app.services import extensions

    create(cast.bob)
    publish(cast.bob)
    extensions.set_alias(actor=cast.bob, alias="old-review", workflow_id="team.review", now=NOW)
    found = find_published(actor=cast.agent, workflow_id="old-review")
    extensions.remove_alias(actor=cast.bob, alias="old-review", now=NOW)

    assert (found.workflow_id, found.requested_id) == ("team.review", "old-review")
    with pytest.raises(NotFoundError):
        find_published(actor=cast.agent, workflow_id="old-review")


def test_an_alias_of_one_team_is_none_of_anothers(cast):
    from teams_app.engine.errors import NotFoundError
    from workflows_app.selectors.details import read_workflow
    from workflows_app.services import extensions

    create(cast.bob)
    create(cast.charlie)
    extensions.set_alias(actor=cast.bob, alias="old", workflow_id="team.review", now=NOW)

    with pytest.raises(NotFoundError):
        read_workflow(actor=cast.charlie, workflow_id="old")


def test_an_id_goes_before_an_alias(cast):
    from teams_app.engine.errors import PreconditionFailedError
    from workflows_app.services import extensions

    create(cast.bob, "team.one")
    create(cast.bob, "team.two")

    with pytest.raises(PreconditionFailedError):
        extensions.set_alias(actor=cast.bob, alias="team.one", workflow_id="team.two", now=NOW)
    extensions.set_alias(actor=cast.bob, alias="team.three", workflow_id="team.two", now=NOW)
    with pytest.raises(PreconditionFailedError, match="alias"):
        create(cast.bob, "team.three")


@pytest.mark.parametrize("alias", ["wr.mine", "Team.x", "a.b.c", "", "x" * 65, "import", "na\x00me"])
def test_an_alias_that_cannot_be_a_name_is_refused(cast, alias):
    from teams_app.engine.errors import InvalidInputError
    from workflows_app.services import extensions

    create(cast.bob)

    with pytest.raises(InvalidInputError):
        extensions.set_alias(actor=cast.bob, alias=alias, workflow_id="team.review", now=NOW)


def test_a_key_redirects_no_name_and_binds_no_slot(slotted):
    from teams_app.engine.errors import ForbiddenError
    from workflows_app.services import extensions

    with pytest.raises(ForbiddenError):
        extensions.set_alias(actor=slotted.agent, alias="x", workflow_id="team.slotted", now=NOW)
    with pytest.raises(ForbiddenError):
        bind(slotted.agent)


def test_a_registered_contract_is_embedded_in_what_is_compiled_from_then_on(cast):
    from workflows_app.selectors.programs import load_program

    step = {
        "id": "find-it",
        "title": "Find",
        "prompt": "Find what is wrong with it.",
        "outputContract": {"contractRef": "team.contracts.finding"},
    }
    before = create(cast.bob, "team.before", steps=[step])
    register(cast.bob)
    after = create(cast.bob, "team.after", steps=[step])
    register(cast.bob, summary="Changed", schema={"type": "object"})

    assert [problem.code for problem in before.revision.problems] == ["unknown_contract"]
    kept = load_program(after.revision.workflow_hash).contracts["team.contracts.finding"]
    assert (kept.summary, kept.schema["required"]) == ("One finding", ["kind", "level"])


def test_a_team_keeps_no_more_contracts_than_are_read_for_each_workflow(cast, monkeypatch):
    from teams_app.engine.errors import NotFoundError, PreconditionFailedError
    from workflows_app.services import extensions

    monkeypatch.setattr(extensions, "MAX_CONTRACTS", 2)
    for name in ("one", "two"):
        register(cast.bob, f"team.contracts.{name}")
    register(cast.charlie)

    with pytest.raises(PreconditionFailedError, match="2 output contracts"):
        register(cast.bob, "team.contracts.three")
    register(cast.bob, "team.contracts.two", summary="Put in the place of one that is there")
    extensions.remove_contract(actor=cast.bob, contract_id="team.contracts.one", now=NOW)
    register(cast.bob, "team.contracts.three")
    with pytest.raises(NotFoundError):
        extensions.remove_contract(actor=cast.bob, contract_id="team.contracts.one", now=NOW)


def test_contracts_of_a_team_are_bounded_together(cast, monkeypatch):
    from teams_app.engine.errors import PreconditionFailedError
    from workflows_app.services import extensions

    one = register(cast.bob).contract
    monkeypatch.setattr(extensions, "MAX_CONTRACTS_BYTES", 3 * len(extensions._definition(one)) - 1)

    register(cast.bob)
    register(cast.bob, "team.contracts.second")
    with pytest.raises(PreconditionFailedError, match="bytes together"):
        register(cast.bob, "team.contracts.third")


def test_a_workflow_does_not_compile_any_more_with_a_contract_that_was_removed(cast):
    from workflows_app.services import extensions

    step = {
        "id": "look-at-it",
        "title": "Look",
        "prompt": "Look.",
        "outputContract": {"contractRef": "team.contracts.finding"},
    }
    register(cast.bob)
    create(cast.bob, "team.before", steps=[step])
    extensions.remove_contract(actor=cast.bob, contract_id="team.contracts.finding", now=NOW)
    after = create(cast.bob, "team.after", steps=[step])

    assert [problem.code for problem in after.revision.problems] == ["unknown_contract"]


def test_a_team_keeps_no_more_aliases_and_bindings_than_one_list_tells(slotted, monkeypatch):
    from teams_app.engine.errors import PreconditionFailedError
    from workflows_app.services import extensions

    monkeypatch.setattr(extensions, "MAX_ALIASES", 1)
    monkeypatch.setattr(extensions, "MAX_BINDINGS", 1)

    for _ in range(2):
        extensions.set_alias(actor=slotted.bob, alias="first", workflow_id="team.slotted", now=NOW)
        bind(slotted.bob)
    with pytest.raises(PreconditionFailedError, match="other names of workflows"):
        extensions.set_alias(actor=slotted.bob, alias="second", workflow_id="team.slotted", now=NOW)
    with pytest.raises(PreconditionFailedError, match="routines in extension slots"):
        bind(slotted.bob, workflow_id="")


def test_a_contract_of_one_team_is_none_of_anothers(cast):
    from workflows_app.selectors.extensions import list_contracts

    register(cast.bob)

    ids = {actor: {item.contract_id for item in list_contracts(actor=actor)} for actor in (cast.bob, cast.charlie)}
    assert ids[cast.bob] - ids[cast.charlie] == {"team.contracts.finding"}
    assert "wr.contracts.loop_control" in ids[cast.charlie]


@pytest.mark.parametrize(
    ("contract_id", "changes"),
    [
        ("wr.contracts.finding", {}),
        ("team.finding", {}),
        ("team.contracts.Finding", {}),
        ("team.contracts.finding", {"artifact_kind": "finding"}),
        ("team.contracts.finding", {"schema": {"type": "nonsense"}}),
        ("team.contracts.finding", {"example": {"kind": "team.finding", "level": "none"}}),
        ("team.contracts.finding", {"example": {"kind": "other.kind", "level": "low"}}),
        ("team.contracts.finding", {"summary": "x" * 501}),
        ("team.contracts.finding", {"schema": {"type": "object", "description": "x" * 70_000}}),
        ("team.contracts.finding", {"schema": {"$ref": "https://example.org/schema"}}),
    ],
)
def test_a_contract_that_could_not_be_held_to_is_refused(cast, contract_id, changes):
    from teams_app.engine.errors import InvalidInputError
    from workflows_app.models import TeamContract

    with pytest.raises(InvalidInputError):
        register(cast.bob, contract_id, **changes)
    assert not TeamContract.objects.exists()


def test_a_binding_changes_what_runs_from_then_on(slotted):
    assert bound_to(slotted.bob) == "team.routine-first"
    bind(slotted.bob)
    assert bound_to(slotted.bob) == "team.routine-second"
    unbind(slotted.bob)
    assert bound_to(slotted.bob) == "team.routine-first"


def test_a_binding_for_every_workflow_yields_to_one_for_this(slotted):
    bind(slotted.bob, workflow_id="")
    assert bound_to(slotted.bob) == "team.routine-second"
    bind(slotted.bob, routine="team.routine-first")
    assert bound_to(slotted.bob) == "team.routine-first"
    unbind(slotted.bob)
    assert bound_to(slotted.bob) == "team.routine-second"


def test_a_binding_holds_for_the_next_revision_too(slotted):
    from tests.workflow_cast import document, source_of
    from workflows_app.services import workflows

    bind(slotted.bob)
    workflows.revise_workflow(
        actor=slotted.bob,
        workflow_id="team.slotted",
        source=source_of(document("team.slotted", name="Next", **SLOTTED)),
        base_revision=1,
        message="",
        now=NOW,
    )
    publish(slotted.bob, "team.slotted", number=2)

    assert bound_to(slotted.bob) == "team.routine-second"


def test_a_binding_is_none_of_another_teams(slotted, tmp_path):
    """A bundled workflow with a slot runs differently in each team that binds it."""
    import json

    from teams_app.engine.actors import NO_TEAM, Door, system_actor
    from tests.workflow_cast import document
    from workflows_app.services.bundled import load_bundled

    (tmp_path / "steps").mkdir()
    (tmp_path / "routines").mkdir()
    text = json.dumps(document("wr.slotted", **SLOTTED)).replace("team.routine-first", "wr.routine-first")
    (tmp_path / "steps/slotted.json").write_text(text)
    (tmp_path / "routines/first.json").write_text(json.dumps(document("wr.routine-first")))
    system = system_actor(team_id=NO_TEAM, door=Door.CLI)
    load_bundled(actor=system, now=NOW, root=tmp_path)
    bind(slotted.bob, workflow_id="wr.slotted")

    assert bound_to(slotted.bob, "wr.slotted") == "team.routine-second"
    assert bound_to(slotted.charlie, "wr.slotted") == "wr.routine-first"
    (tmp_path / "steps/slotted.json").write_text(text.replace("Review a change", "Changed"))
    load_bundled(actor=system, now=NOW, root=tmp_path)
    assert bound_to(slotted.bob, "wr.slotted") == "team.routine-second"


@pytest.mark.parametrize(
    "given",
    [
        {"routine": "team.routine-third"},
        {"workflow_id": "team.nothing"},
        {"slot": "lock"},
        {"workflow_id": "", "slot": "lock"},
        {"slot": "Bad Slot"},
        {"slot": "look\x00"},
        {"routine": ""},
    ],
)
def test_a_binding_that_leads_nowhere_is_refused_and_changes_nothing(slotted, given):
    from teams_app.engine.errors import WorkrailError
    from workflows_app.models import Binding, Variant

    with pytest.raises(WorkrailError) as refusal:
        bind(slotted.bob, **given)
    assert refusal.value.code in {"NOT_FOUND", "VALIDATION_ERROR"}
    assert not Binding.objects.exists()
    assert not Variant.objects.exists()


def accepting(default, *kinds, workflow_id="team.asks"):
    slot = {"slotId": "look", "purpose": "How to look at it", "default": default, "acceptedKinds": [*kinds]}
    return document(workflow_id, **{**SLOTTED, "extensionPoints": [slot]})


def told_everywhere(cast, tmp_path, written, *others):
    """The problems of one source by every way by which it is read: checked, imported alone, imported with others, and on a disk."""
    from workflows_app.engine.source import Origin, Strictness
    from workflows_app.management.offline import compile_paths
    from workflows_app.services.importing import ImportOptions, import_files
    from workflows_app.services.workflows import validate_source

    files = {f"{each['id']}.json": json.dumps(each).encode() for each in (written, *others)}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    mine = f"{written['id']}.json"
    yield "checked", validate_source(actor=cast.bob, source=source_of(written)).problems
    for arriving in ({mine: files[mine]}, files):
        done = import_files(actor=cast.bob, files=arriving, options=ImportOptions(), now=NOW)
        yield from (
            (f"imported with {len(arriving)}", saved.revision.problems)
            for saved in done.workflows
            if saved.workflow.workflow_id == written["id"]
        )
    found = compile_paths(paths=[tmp_path], origin=Origin.TEAM, strictness=Strictness.STRICT)
    yield from (("on a disk", each.problems) for each in found.results if each.place.endswith(mine))


@pytest.mark.parametrize("state", ["published", "a draft"])
@pytest.mark.parametrize("default", ["routine-first", "team.routine-first"])
def test_a_routine_is_called_one_by_whichever_name_and_way_it_is_found(cast, tmp_path, default, state):
    create(cast.bob, "team.routine-first")
    if state == "published":
        publish(cast.bob, "team.routine-first")
    others = (document("team.routine-first"), document("team.plain"))

    for kinds, told in (("routine",), 0), (("workflow",), 1), (("routine", "workflow"), 0):
        ways = list(told_everywhere(cast, tmp_path, accepting(default, *kinds), *others))

        assert len(ways) == 4
        for way, problems in ways:
            found = [problem.message for problem in problems if problem.code.value == "bad_value"]
            assert len(found) == told, (way, kinds, found)
            assert all("is a routine" in message for message in found)


@pytest.mark.parametrize("default", ["plain", "team.plain"])
def test_a_workflow_is_not_called_a_routine(cast, tmp_path, default):
    create(cast.bob, "team.plain")

    for way, problems in told_everywhere(cast, tmp_path, accepting(default, "routine"), document("team.plain")):
        assert [problem.message[-14:] for problem in problems if problem.code.value == "bad_value"] == [
            "is a workflow."
        ], way


def test_an_alias_of_a_routine_is_a_routine(slotted):
    from workflows_app.services.extensions import set_alias
    from workflows_app.services.workflows import validate_source

    set_alias(actor=slotted.bob, alias="looking", workflow_id="team.routine-first", now=NOW)

    assert validate_source(actor=slotted.bob, source=source_of(accepting("looking", "routine"))).problems == ()
