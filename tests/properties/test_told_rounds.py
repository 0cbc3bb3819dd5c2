"""What a run that is led does, told in one manifest, becomes the same nodes: each step in the same round of the same loops."""

from uuid import UUID

from hypothesis import given, settings, strategies as st

from sessions_app.engine.decide import decide
from sessions_app.engine.decisions import EnterActivity, Place, Start
from sessions_app.engine.manifests import ManifestEntry
from sessions_app.engine.runs import Drive
from sessions_app.engine.state import Preferences, snapshot_from_bytes
from tests.engine_play import activities, do
from workflows_app.engine import walker
from workflows_app.engine.program import Activity, Loop, LoopKind, Transition

PROFILE = settings(derandomize=True, database=None, deadline=None, max_examples=150)
LISTS = st.lists(st.integers(), max_size=3)
# A body is a step, or a loop around bodies, over a list of its own or over one that the item of the loop around it holds.
BODIES = st.recursive(
    st.just("step"),
    lambda inner: st.tuples(st.booleans(), st.lists(inner, min_size=1, max_size=3)),
    max_leaves=6,
)


class Writer:
    """Gives steps and loops of a nested body their names, and the lists that the loops go over."""

    def __init__(self, lists):
        self.lists = lists
        self.count = 0
        self.variables = {}

    def item(self, shape, around=""):
        self.count += 1
        number = self.count
        if shape == "step":
            return do(f"step-{number}")
        is_of_item, body = shape
        name = self.lists[number % len(self.lists)]
        items = (f"item_{around}", "own") if is_of_item and around else (f"list_{number}",)
        if items[0].startswith("list_"):
            self.variables[items[0]] = [{"own": self.lists[(number + i) % len(self.lists)]} for i, _ in enumerate(name)]
        return Loop(
            id=f"loop-{number}",
            title=f"Loop {number}",
            loops=LoopKind.FOR_EACH,
            items=items,
            item_variable=f"item_{number}",
            body=tuple(self.item(each, str(number) if not is_of_item or not around else "") for each in body),
            max_iterations=9,
        )


def led(program, variables):
    """The steps that a run which is led comes to, by their keys."""
    walk = walker.enter_activity(program=program, position=None, activity_id="main", variables=variables)
    while walk.position.activity == "main" and not walk.position.complete:
        yield walk.position.pending
        walk = walker.complete_pending(program=program, position=walk.position, variables=variables, artifacts=())


def told(program, variables, steps):
    """The keys of the nodes that are made of a manifest."""
    snapshot, keys = None, []
    begin = Start(goal="", context=variables, baseline=Preferences(), drive=Drive.HANDED_OVER)
    manifest = tuple(ManifestEntry(step_id=each, output=f"Did {each}.") for each in steps)
    for number, command in enumerate(
        (begin, EnterActivity(activity_id="main"), EnterActivity(activity_id="next", manifest=manifest))
    ):
        place = Place(
            session_id=UUID(int=1 << 80),
            run_id=UUID(int=2),
            node_id=None if number == 0 else UUID(int=1000 * number),
            next_node=UUID(int=1000 * (number + 1)),
            nonce=number.to_bytes(8, "big"),
            workflow_id=program.id,
            workflow_hash="sha256:" + "0" * 64,
            at_ms=1_000_000 * (number + 1),
            more_nodes=tuple(UUID(int=1000 * (number + 1) + each) for each in range(1, len(steps) + 2)),
        )
        decision = decide(program=program, snapshot=snapshot, command=command, place=place)
        made = [snapshot_from_bytes(node.snapshot_data) for node in decision.nodes]
        keys += [each.position.pending for each in made if each.position.activity == "main"]
        snapshot = made[-1]
    return keys, snapshot


@PROFILE
@given(st.lists(BODIES, min_size=1, max_size=3), st.lists(LISTS, min_size=2, max_size=4))
def test_what_a_led_run_does_becomes_the_same_nodes_when_it_is_told(bodies, lists):
    writer = Writer(lists)
    body = tuple(writer.item(each) for each in bodies)
    ways = (Transition(to="next", is_default=True),)
    program = activities(
        Activity(id="main", title="Main", body=body, transitions=ways),
        Activity(id="next", title="Next", body=(do("end"),)),
    )
    keys = list(led(program, writer.variables))[:200]

    made, snapshot = told(program, writer.variables, [key.rpartition("::")[2] for key in keys])

    assert list(dict.fromkeys(key for key in made if "::" in key)) == keys
    assert snapshot.position.activity == "next"


def test_rounds_without_work_are_looked_through_within_bounds(monkeypatch):
    looks, look = [], walker.has_rounds
    monkeypatch.setattr(walker, "has_rounds", lambda **at: looks.append(1) or look(**at))
    each = {"loops": LoopKind.FOR_EACH, "max_iterations": 9_999}
    inner = Loop(id="inner", title="Inner", items=("item", "own"), body=(do("work"),), **each)
    outer = Loop(id="outer", title="Outer", items=("list",), item_variable="item", body=(inner,), **each)
    ways = (Transition(to="next", is_default=True),)
    program = activities(
        Activity(id="main", title="Main", body=(outer,), transitions=ways),
        Activity(id="next", title="Next", body=(do("end"),)),
    )

    _, snapshot = told(program, {"list": [{"own": []}] * 5_000}, ["work"] * 100)

    assert snapshot.position.activity == "next"
    assert len(looks) < 5_000
