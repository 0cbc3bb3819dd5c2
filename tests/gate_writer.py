"""Workflows with gates at random places, in both formats and in each form of activities."""

from dataclasses import replace

from tests.activity_folders import folder, workflow as about_folder
from tests.gate_documents import END, PROBED, activity_written, graph_written, step_written
from tests.gate_kinds import CHILD
from tests.gate_programs import (
    KEPT,
    KEPT_VALUES,
    LISTS,
    SETTLED,
    VALUES,
    VARIABLES,
    Choice,
    Place,
    Test,
    Visit,
    Written,
    expanded,
    walk,
)

VERDICT = "wr.contracts.review_verdict"
DECISION = "wr.contracts.loop_control"
FORMS = ("newest", "newest", "exits", "named", "entry")
# A level that asks for a follow-up, and so does not let the step be done.
FOLLOWED_UP = {
    "assessmentRefs": ["ready"],
    "assessmentConsequences": [
        {"when": {"anyEqualsLevel": "none"}, "effect": {"kind": "require_followup", "guidance": "Prove it."}}
    ],
}
FRAGMENT = {"promptFragments": [{"id": "deep", "when": {"var": "risk", "equals": "high"}, "text": "Go deeper."}]}
CAPABILITY = "web_browsing"


def write(dice, workflow_id, *, steps=None):
    """Of the one format or of the other, as it falls out or as it is asked for."""
    is_of_steps = dice.random() < 0.5 if steps is None else steps
    return _StepsWriter(dice, workflow_id).written() if is_of_steps else _FolderWriter(dice, workflow_id).written()


class _Writer:
    def __init__(self, dice, workflow_id):
        self.dice, self.workflow_id = dice, workflow_id
        self.count = 0

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


class _StepsWriter(_Writer):
    def __init__(self, dice, workflow_id):
        super().__init__(dice, workflow_id)
        self.routines = {}

    def written(self):
        body = ()
        while not any(place.asks or place.wants for place in walk(body)):
            self.routines = {}
            body = (Place(self.named("step")), *self.body(2), Place(self.named("step")))
        document = [step_written(place) for place in body]
        needed = self.chance(0.2)
        probe = (Place(f"wr-probe.{CAPABILITY}"),) if needed else ()
        fields = {"capabilities": {CAPABILITY: self.dice.choice(("required", "preferred"))}} if needed else {}
        visit = Visit("main", (*probe, *expanded(body)))
        return Written(self.workflow_id, (visit,), document, fields=fields, routines=self.routines)

    def body(self, depth):
        return tuple(self.item(depth) for _ in range(self.dice.randrange(1, 4)))

    def call(self):
        """Of a routine of its own, with gates in it or upon it or both."""
        routine_id = f"team.routine-{self.dice.getrandbits(48):x}"
        body = tuple(self.item(1, may_call=False) for _ in range(self.dice.randrange(1, 4)))
        self.routines[routine_id] = [step_written(place) for place in body]
        asks = self.chance(0.3)
        when = self.maybe(0.3) if asks else None
        return Place(self.named("call"), self.maybe(0.3), asks=asks, asks_when=when, body=body, routine=routine_id)

    def item(self, depth, *, may_call=True):
        if may_call and self.chance(0.15):
            return self.call()
        if depth and self.chance(0.45):
            body = tuple(self.item(depth - 1, may_call=may_call) for _ in range(self.dice.randrange(1, 4)))
            loop = self.loop(("for", "forEach", "while", "until", "decided"), body)
            if loop.loops == "decided":
                deciding = Place(self.named("decide"), settings={"outputContract": {"contractRef": DECISION}})
                loop = replace(loop, body=(*loop.body, deciding))
            asks = self.chance(0.2)
            return replace(loop, asks=asks, asks_when=self.maybe(0.3) if asks else None)
        asks = self.chance(0.3)
        wants = not asks and self.chance(0.15)
        is_parallel = not wants and self.chance(0.1)
        is_probe = not (wants or is_parallel or asks) and self.chance(0.1)
        more = self.demand() if wants else FRAGMENT if self.chance(0.2) else {}
        if is_parallel:
            more = {"type": "parallel"}
        if is_probe:
            more = {"templateCall": {"templateId": PROBED, "args": {"capability": CAPABILITY}}}
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


class _FolderWriter(_Writer):
    """In half of the workflows what nobody but activities, steps and answers set decides where it goes."""

    def __init__(self, dice, workflow_id):
        super().__init__(dice, workflow_id)
        self.keeps = self.chance(0.5)
        self.others = ()

    def written(self):
        names = [self.named("act") for _ in range(self.dice.randrange(2, 6 if self.keeps else 5))]
        visits = []
        while not any(place.asks for visit in visits for place in walk(visit.body)):
            visits = [self.visit(index, names) for index in range(len(names))]
        modes = {"fast": (self.dice.choice(names[1:]),)} if not self.keeps and self.chance(0.3) else {}
        written = [
            {"id": f"mode-{name}", "name": name, "activationVariable": name, "skipActivities": list(left)}
            | ({"defaults": {"on": True}} if self.chance(0.3) else {})
            for name, left in modes.items()
        ]
        begins = {"fast": self.sets(1)} if self.keeps and self.chance(0.3) else {}
        written += [
            {"id": f"mode-{name}", "name": name, "activationVariable": name, "defaults": dict(pairs)}
            for name, pairs in begins.items()
        ]
        graph = graph_written(visits)
        about = about_folder(
            id=self.workflow_id,
            description="Written at random.",
            initialActivity=names[0],
            variables=[{"name": name, "type": "boolean", "defaultValue": False} for name in KEPT],
            **({"modes": written} if written else {}),
            **({"graph": graph} if graph else {}),
        )
        acts = [activity_written(visit, (CHILD,) if self.chance(0.2) else ()) for visit in visits]
        return Written(self.workflow_id, tuple(visits), folder(*acts, about=about), modes, begins=begins)

    def visit(self, index, names):
        self.others = names
        form = self.dice.choice(FORMS)
        following = names[index + 1 : index + 2]
        ways = [(name, self.way(0.4)) for name in following]
        if self.chance(0.4) or self.keeps:
            ways.insert(0, (self.dice.choice(names), self.way(1)))
        if self.chance(0.2):
            ways.append((END, self.way(1)))
        ways = list(dict(reversed(ways)).items())[::-1] if form == "exits" else ways
        body = self.older(form) if form in {"named", "entry"} else self.newest()
        return Visit(names[index], body, tuple(ways), entry=self.sets(0.25), exit=self.sets(0.25), form=form)

    def way(self, of):
        if not self.chance(of):
            return None
        if self.keeps and self.chance(0.7):
            return Test(self.dice.choice(KEPT), self.dice.choice(KEPT_VALUES))
        return Test(SETTLED, value=True) if self.chance(0.2) else self.test()

    def sets(self, of):
        if not self.chance(of):
            return ()
        if self.keeps and self.chance(0.8):
            return ((self.dice.choice(KEPT), self.dice.choice(KEPT_VALUES)),)
        return ((self.dice.choice(VARIABLES), self.dice.choice(VALUES)),)

    def newest(self):
        return tuple(self.item(2) for _ in range(self.dice.randrange(1, 4)))

    def item(self, depth):
        if depth and self.chance(0.35):
            body = tuple(self.item(depth - 1) for _ in range(self.dice.randrange(1, 3)))
            return replace(self.loop(("forEach", "while", "doWhile"), body), breaks=self.maybe(0.3))
        return self.step() if self.chance(0.55) else self.question()

    def step(self):
        when = self.maybe(0.3)
        kept = self.sets(0.4) if self.keeps else ()
        sets = tuple(pair for pair in kept if pair[0] in KEPT)
        return Place(self.named("step"), when, is_optional=self.chance(0.2), sets=sets)

    def question(self, *, follows=""):
        asks = self.chance(0.65)
        may_be_kept = self.keeps and self.chance(0.3)
        when = Test(self.dice.choice(KEPT), self.dice.choice(KEPT_VALUES)) if may_be_kept else self.maybe(0.3)
        return Place(
            self.named("ask"),
            when,
            asks=asks,
            is_question=True,
            follows=follows,
            choices=(self.choice("yes", asks=asks), self.choice("no", asks=asks)),
            is_optional=not asks and self.chance(0.3),
        )

    def choice(self, name, *, asks):
        lead = self.dice.choice((*self.others, END)) if self.chance(0.3) else ""
        drops = (self.dice.choice(self.others),) if not self.keeps and self.chance(0.1) else ()
        sets = ()
        if self.keeps and self.chance(0.4):
            sets = ((self.dice.choice(KEPT), self.dice.choice(KEPT_VALUES)),)
        elif asks and self.chance(0.3):
            sets = ((SETTLED, name == "yes"),)
        return Choice(name, lead, drops, sets)

    def older(self, form):
        """Steps with the questions that they name, or questions on entry; loops behind them."""
        body = self.followed(form, self.dice.randrange(1, 4))
        if form == "entry":
            asked = [replace(self.question(), is_optional=False) for _ in range(self.dice.randrange(1, 3))]
            more = [self.question()] if self.chance(0.3) else []
            # People are asked first though it is not required; what an agent may pass on is asked on demand.
            asked += [replace(place, is_optional=True) for place in more if place.asks]
            on_demand = [replace(place, is_on_demand=True, is_optional=False) for place in more if not place.asks]
            body = (*asked, *body, *on_demand)
        if self.chance(0.4):
            inner = self.followed(form, self.dice.randrange(1, 3))
            body = (*body, replace(self.loop(("forEach", "while", "doWhile"), inner), breaks=self.maybe(0.3)))
        return body

    def followed(self, form, count):
        body = []
        for number in range(count):
            step = self.step()
            body.append(step)
            if form == "named" and (number == 0 or self.chance(0.5)):
                body.append(self.question(follows=step.id))
        return tuple(body)
