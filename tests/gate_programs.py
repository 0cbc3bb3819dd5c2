"""Workflows with gates at random places, in both formats, and which of their steps stand behind those gates.

What stands behind is found from what was written here, by no rule of the engine: a place is reached where some way leads to
it on which nobody has to be asked, whatever an agent says of everything that is its own to say.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tests.activity_folders import activity as activity_file, folder, workflow as about_folder
from tests.checkpoint_cast import publish_folder
from tests.gate_play import APPROVAL, COMPLETE
from tests.run_cast import notes_free, published

VARIABLES = ("on", "risk", "mood")
VALUES = ("high", "none", True)
LISTS = ("files", "parts")
VERDICT = "wr.contracts.review_verdict"
DECISION = "wr.contracts.loop_control"
CHILD = "team.child"
ASSESSMENT = {
    "id": "ready",
    "purpose": "Is it ready?",
    "dimensions": [{"id": "proof", "purpose": "How sure?", "levels": ["none", "some"]}],
}
DECLARED = {"assessments": [ASSESSMENT]}
# A level that asks for a follow-up, and so does not let the step be done.
FOLLOWED_UP = {
    "assessmentRefs": ["ready"],
    "assessmentConsequences": [
        {"when": {"anyEqualsLevel": "none"}, "effect": {"kind": "require_followup", "guidance": "Prove it."}}
    ],
}


@dataclass(frozen=True)
class Test:
    """A condition: a variable is this value, or is not; the agent may set any of them."""

    name: str
    value: object
    negated: bool = False

    def holds(self, variables):
        return (variables.get(self.name) == self.value) is not self.negated

    def written(self):
        return {"var": self.name, "not_equals" if self.negated else "equals": self.value}

    def in_folder(self):
        return {
            "type": "simple",
            "variable": self.name,
            "operator": "!=" if self.negated else "==",
            "value": self.value,
        }


@dataclass(frozen=True)
class Place:
    """A step, a question or a loop. `asks` and `wants` are what nobody but a person, and nobody at all, gives in these tests;
    `asks_when` restricts the former. `leads` are the activities to which an answer may lead.
    """

    id: str
    when: Test | None = None
    asks: bool = False
    asks_when: Test | None = None
    wants: bool = False
    is_optional: bool = False
    is_question: bool = False
    leads: tuple[str, ...] = ()
    drops: tuple[str, ...] = ()
    body: tuple["Place", ...] = ()
    loops: str = ""
    settings: dict = field(default_factory=dict, hash=False, compare=False)
    goes_on: Test | None = None
    breaks: Test | None = None
    rounds: int = 0


@dataclass(frozen=True)
class Visit:
    """An activity; the steps of the other format are one that leads nowhere."""

    id: str
    body: tuple[Place, ...]
    ways: tuple[tuple[str, Test | None], ...] = ()
    ends: bool = True


@dataclass(frozen=True)
class Written:
    workflow_id: str
    visits: tuple[Visit, ...]
    document: object
    modes: dict[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    # What activities set when they are entered or left: a walk through several of them shows the last values alone.
    sets: frozenset[str] = frozenset()

    @property
    def places(self):
        return [place for visit in self.visits for place in walk(visit.body)]

    def publish(self, desk):
        if isinstance(self.document, list):
            return published(desk, *self.document, workflow_id=self.workflow_id, **DECLARED)
        return publish_folder(desk, self.document, self.workflow_id)


def walk(body) -> Iterator[Place]:
    for place in body:
        yield place
        yield from walk(place.body)


# What can be reached


def reachable(written, told, *, is_lenient=False):
    """The places that may be come to when `told` were the variables, one after the other. Lenient, what is wanted and not there
    stops nobody: an agent may choose that, and may not choose to go past people.
    """
    return _Reach(written, told, is_lenient=is_lenient).found()


class _Reach:
    def __init__(self, written, told, *, is_lenient):
        self.visits = {visit.id: visit for visit in written.visits}
        self.first = written.visits[0].id
        self.modes, self.told, self.is_lenient = written.modes, told, is_lenient
        self.sets = written.sets
        self.places, self.waiting = set(), [self.first]

    def found(self):
        entered = set()
        while self.waiting:
            name = self.waiting.pop()
            if name not in self.visits:
                self.places.add(COMPLETE)
            elif name not in entered:
                entered.add(name)
                self.enter(self.visits[name])
        return self.places

    def enter(self, visit):
        if self.flow(visit.body, is_top=True) or self.may_be_dropped(visit.id):
            self.waiting += [target for target, _ in visit.ways]
            self.waiting += [COMPLETE] if visit.ends else []

    def may_be_dropped(self, name):
        by_mode = any(
            name in names and any(told.get(mode) is True for told in self.told) for mode, names in self.modes.items()
        )
        every = [place for visit in self.visits.values() for place in walk(visit.body)]
        return by_mode or any(name in place.drops and place.id in self.places for place in every)

    def surely(self, test):
        """Whether it held all the time; what changed on the way may have been read at any moment."""
        return test is None or (test.name not in self.sets and all(test.holds(variables) for variables in self.told))

    def flow(self, body, *, is_armed=False, is_top=False):
        """Whether the end of the body may be come to. By hand the steps at the top that nobody approves are tried in any order;
        what they want is wanted before the end, and before a loop.
        """
        is_owed = False
        for place in body:
            if is_owed and (place.loops or place.is_question):
                if self.surely(place.when):
                    return False
                continue
            self.places.add(place.id)
            if self.passes(place, is_armed=is_armed) or self.may_be_left_out(place):
                continue
            if not is_top or not place.wants:
                return False
            is_owed = True
        return not is_owed

    def may_be_left_out(self, place):
        if place.loops and not self.has_a_round(place):
            return True
        return not self.surely(place.when) or (place.is_optional and not place.asks)

    def has_a_round(self, loop):
        match loop.loops:
            case "for":
                return loop.rounds > 0
            case "while":
                return self.surely(loop.goes_on)
            case "until":
                return self.surely(replace(loop.goes_on, negated=not loop.goes_on.negated))
            case "doWhile":
                return True
            case "decided":
                return any(inner.asks for inner in walk((loop,)))
            case _:
                return False

    def passes(self, place, *, is_armed):
        asks = is_armed or (place.asks and self.surely(place.asks_when))
        if place.loops:
            return self.flow(place.body, is_armed=asks)
        self.waiting += [] if asks else place.leads
        return not asks and (self.is_lenient or not place.wants)


# Writing them


def write(dice, workflow_id):
    return _Writer(dice, workflow_id).steps() if dice.random() < 0.5 else _Writer(dice, workflow_id).folder()


class _Writer:
    def __init__(self, dice, workflow_id):
        self.dice, self.workflow_id = dice, workflow_id
        self.count = 0
        self.others = ()
        self.assigned = set()

    def named(self, word):
        self.count += 1
        return f"{word}-{self.count}"

    def chance(self, of):
        return self.dice.random() < of

    def test(self):
        return Test(self.dice.choice(VARIABLES), self.dice.choice(VALUES), negated=self.chance(0.6))

    def maybe(self, of):
        return self.test() if self.chance(of) else None

    def loop(self, kinds, body):
        kind = self.dice.choice(kinds)
        loop_id = self.named("loop")
        test = self.test() if kind in {"while", "until", "doWhile"} else None
        settings = {"type": "while" if kind == "decided" else kind, "maxIterations": self.dice.choice((1, 2, 5))}
        rounds = 0
        match kind:
            case "for":
                literal = self.chance(0.7)
                rounds = self.dice.choice((0, 1, 2)) if literal else 0
                settings |= {"count": rounds if literal else "many"}
                settings["maxIterations"] = 3
            case "forEach":
                settings |= {"items": self.dice.choice(LISTS)}
            case "decided":
                source = {"kind": "artifact_contract", "contractRef": DECISION}
                settings["conditionSource"] = source | ({"loopId": loop_id} if self.chance(0.5) else {})
        return Place(loop_id, self.maybe(0.2), body=body, loops=kind, settings=settings, goes_on=test, rounds=rounds)

    # Steps

    def steps(self):
        body = ()
        while not any(place.asks or place.wants for place in walk(body)):
            body = (Place(self.named("step")), *self.body(2), Place(self.named("step")))
        document = [_step_written(place) for place in body]
        return Written(self.workflow_id, (Visit("main", body),), document)

    def body(self, depth):
        return tuple(self.item(depth) for _ in range(self.dice.randrange(1, 4)))

    def item(self, depth):
        if depth and self.chance(0.45):
            loop = self.loop(("for", "forEach", "while", "until", "decided"), self.body(depth - 1))
            if loop.loops == "decided":
                loop = replace(
                    loop,
                    body=(
                        *loop.body,
                        Place(self.named("decide"), settings={"outputContract": {"contractRef": DECISION}}),
                    ),
                )
            asks = self.chance(0.2)
            return replace(loop, asks=asks, asks_when=self.maybe(0.3) if asks else None)
        asks = self.chance(0.3)
        wants = not asks and self.chance(0.15)
        is_parallel = not wants and self.chance(0.1)
        more = {"type": "parallel"} if is_parallel else self.demand() if wants else {}
        return Place(
            self.named("parallel" if is_parallel else "step"),
            self.maybe(0.25),
            asks=asks,
            asks_when=self.maybe(0.3) if asks else None,
            wants=wants,
            settings=more,
        )

    def demand(self):
        return {"outputContract": {"contractRef": VERDICT}} if self.chance(0.5) else FOLLOWED_UP

    # Folders

    def folder(self):
        names = [self.named("act") for _ in range(self.dice.randrange(2, 5))]
        visits = []
        while not any(place.asks for visit in visits for place in walk(visit.body)):
            visits = [self.visit(index, names) for index in range(len(names))]
        modes = {"fast": (self.dice.choice(names[1:]),)} if self.chance(0.3) else {}
        written = [
            {"id": f"mode-{name}", "name": name, "activationVariable": name, "skipActivities": list(left)}
            | ({"defaults": {"on": True}} if self.chance(0.3) else {})
            for name, left in modes.items()
        ]
        about = about_folder(
            id=self.workflow_id,
            description="Written at random.",
            initialActivity=names[0],
            **({"modes": written} if written else {}),
        )
        files = folder(*(self.activity_written(visit) for visit in visits), about=about)
        return Written(self.workflow_id, tuple(visits), files, modes, frozenset(self.assigned))

    def visit(self, index, names):
        self.others = names
        body = tuple(self.folder_item(2) for _ in range(self.dice.randrange(1, 4)))
        following = names[index + 1 : index + 2]
        ways = [(name, self.maybe(0.4)) for name in following]
        if self.chance(0.4):
            ways.insert(0, (self.dice.choice(names), self.test()))
        if self.chance(0.2):
            ways.append(("workflow-end", self.test()))
        # Where no way is sure the run may end, and where the only sure one is left out of the run it ends as well.
        return Visit(names[index], body, tuple(ways), ends=True)

    def folder_item(self, depth):
        if depth and self.chance(0.35):
            body = tuple(self.folder_item(depth - 1) for _ in range(self.dice.randrange(1, 3)))
            return replace(self.loop(("forEach", "while", "doWhile"), body), breaks=self.maybe(0.3))
        if self.chance(0.55):
            return Place(self.named("step"), self.maybe(0.3), is_optional=self.chance(0.2))
        asks = self.chance(0.65)
        leads = (self.dice.choice((*self.others, "workflow-end")),) if self.chance(0.4) else ()
        drops = (self.dice.choice(self.others),) if self.chance(0.15) else ()
        return Place(
            self.named("ask"),
            self.maybe(0.3),
            asks=asks,
            is_question=True,
            leads=leads,
            drops=drops,
            is_optional=not asks and self.chance(0.3),
        )

    def set(self):
        action = {"action": "set", "target": self.dice.choice(VARIABLES), "value": self.dice.choice(VALUES)}
        self.assigned.add(action["target"])
        return action

    def activity_written(self, visit):
        ways = [
            {"to": target} | ({"condition": test.in_folder()} if test else {"isDefault": True})
            for target, test in visit.ways
        ]
        more = {"triggers": [{"workflow": CHILD}]} if self.chance(0.2) else {}
        more |= {name: [self.set()] for name in ("entryActions", "exitActions") if self.chance(0.2)}
        return activity_file(
            visit.id,
            steps=[_item_written(place) for place in visit.body],
            **({"transitions": ways} if ways else {}),
            **more,
        )


def _step_written(place):
    common = {"runCondition": place.when.written()} if place.when else {}
    if place.asks:
        common["requireConfirmation"] = APPROVAL | ({"condition": place.asks_when.written()} if place.asks_when else {})
    if place.loops:
        settings = dict(place.settings)
        if place.goes_on:
            settings["condition"] = place.goes_on.written()
        body = [_step_written(inner) for inner in place.body]
        return {"id": place.id, "type": "loop", "title": place.id, "loop": settings, "body": body, **common}
    if place.settings.get("type") == "parallel":
        delegated = [{"workflowId": CHILD, "goal": "Do it."}, {"workflowId": CHILD, "goal": "Do it twice."}]
        return {
            "id": place.id,
            "type": "parallel",
            "title": place.id,
            "notesOptional": True,
            "parallelDelegations": delegated,
            **common,
        }
    return notes_free(place.id, **place.settings, **common)


def _item_written(place):
    when = {"condition": place.when.in_folder()} if place.when else {}
    if place.loops:
        said = (
            {"condition": place.goes_on.in_folder()}
            if place.goes_on
            else {"over": place.settings["items"], "variable": "each"}
        )
        if place.goes_on and place.when:
            said = {"continueWhile": said.pop("condition"), **when}
        elif place.when:
            said |= when
        said |= {"breakCondition": place.breaks.in_folder()} if place.breaks else {}
        return {
            "kind": "loop",
            "id": place.id,
            "name": place.id,
            "loopType": place.loops,
            "maxIterations": place.settings["maxIterations"],
            "steps": [_item_written(inner) for inner in place.body],
            **said,
        }
    if place.is_question:
        effect = {"transitionTo": place.leads[0]} if place.leads else {}
        effect |= {"skipActivities": list(place.drops)} if place.drops else {}
        yes = {"id": "yes", "label": "Yes"} | ({"effect": effect} if effect else {})
        return {
            "kind": "checkpoint",
            "id": place.id,
            "name": place.id,
            "message": "Go on?",
            "options": [yes, {"id": "no", "label": "No"}],
            **({"authority": "human"} if place.asks else {}),
            **({"required": False} if place.is_optional else {}),
            **when,
        }
    optional = {"required": False} if place.is_optional else {}
    return {
        "kind": "action",
        "id": place.id,
        "name": place.id,
        "actions": [{"action": "log", "message": "Done."}],
        **optional,
        **when,
    }
