"""Workflows with gates as the tests of gates write them: places, what they ask and lead to, and what activities set."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tests.checkpoint_cast import publish_folder
from tests.run_cast import published
from tests.step_documents import workflow as step_workflow
from tests.workflow_cast import source_of
from workflows_app.engine.source import Source, SourceFormat

VARIABLES = ("on", "risk", "mood")
VALUES = ("high", "none", True)
LISTS = ("files", "parts")
# What no agent speaks of: activities, steps and answers alone set these.
KEPT = ("checked", "cleared")
KEPT_VALUES = (True, False)
# What an answer of a person sets, and an agent claims besides.
SETTLED = "blessed"
ASSESSMENT = {
    "id": "ready",
    "purpose": "Is it ready?",
    "dimensions": [{"id": "proof", "purpose": "How sure?", "levels": ["none", "some"]}],
}
DECLARED = {"assessments": [ASSESSMENT]}


@dataclass(frozen=True)
class Test:
    """A condition: a variable is this value, or is not."""

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
class Tests:
    """Several at once, all of which have to hold or any one of them."""

    of: tuple
    joined: str

    def holds(self, variables):
        return {"and": all, "or": any}[self.joined](test.holds(variables) for test in self.of)

    def written(self):
        return {self.joined: [test.written() for test in self.of]}


def joined(word, *tests):
    """What is asked by those that there are; where one of several would do, nothing is asked where one asks nothing."""
    if word == "or" and None in tests:
        return None
    there = tuple(test for test in tests if test is not None)
    return Tests(there, word) if len(there) > 1 else next(iter(there), None)


@dataclass(frozen=True)
class Choice:
    """An option of a question: where it leads, what it leaves out of the run, and what it sets."""

    id: str
    lead: str = ""
    drops: tuple[str, ...] = ()
    sets: tuple[tuple[str, object], ...] = ()


@dataclass(frozen=True)
class Place:
    """A step, a question, a loop, or the call of a `routine`, whose steps are its body. `asks` and `wants` are what nobody but a person, and nobody at all, gives in these tests;
    `asks_when` restricts the former. A question may follow a step, and then is asked about that; one that is on demand stands
    nowhere in the order of work.
    """

    id: str
    when: Test | None = None
    asks: bool = False
    asks_when: Test | None = None
    wants: bool = False
    is_optional: bool = False
    is_question: bool = False
    is_on_demand: bool = False
    follows: str = ""
    choices: tuple[Choice, ...] = ()
    sets: tuple[tuple[str, object], ...] = ()
    body: tuple["Place", ...] = ()
    loops: str = ""
    settings: dict = field(default_factory=dict, hash=False, compare=False)
    goes_on: Test | None = None
    breaks: Test | None = None
    rounds: int = 0
    routine: str = ""


@dataclass(frozen=True)
class Visit:
    """An activity; the steps of the other format are one that leads nowhere. `form` says which words it is written in."""

    id: str
    body: tuple[Place, ...]
    ways: tuple[tuple[str, Test | None], ...] = ()
    entry: tuple[tuple[str, object], ...] = ()
    exit: tuple[tuple[str, object], ...] = ()
    form: str = "newest"


@dataclass(frozen=True)
class Written:
    """`modes` are the activities that each mode leaves out, `begins` what is so from the start of a run in it."""

    workflow_id: str
    visits: tuple[Visit, ...]
    document: object
    modes: dict[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    fields: dict = field(default_factory=dict, hash=False)
    routines: dict[str, list] = field(default_factory=dict, hash=False)
    begins: dict[str, tuple] = field(default_factory=dict, hash=False)

    @property
    def places(self):
        return [place for visit in self.visits for place in walk(visit.body)]

    def publish_routines(self, desk):
        for routine_id, steps in self.routines.items():
            published(desk, *steps, workflow_id=routine_id, **DECLARED)

    def publish(self, desk):
        self.publish_routines(desk)
        if isinstance(self.document, list):
            return published(desk, *self.document, workflow_id=self.workflow_id, **DECLARED, **self.fields)
        return publish_folder(desk, self.document, self.workflow_id)

    def source(self, number):
        """As the next revision, which differs in words at least."""
        if isinstance(self.document, list):
            about = {"id": self.workflow_id, "description": f"Revision {number}."}
            return source_of(step_workflow(*self.document, **about, **DECLARED, **self.fields))
        files = {**self.document, "resources/01-more.md": f"# Revision {number}\n".encode()}
        return Source(format=SourceFormat.ACTIVITY_FOLDER, files=files)


def walk(body) -> Iterator[Place]:
    for place in body:
        yield place
        yield from walk(place.body)


def expanded(body, *, within="", when=None) -> tuple[Place, ...]:
    """With the steps of each routine in the place of its call: they are under the condition of the call, and what is to be
    confirmed there is confirmed with the last of them.
    """
    found = []
    for place in body:
        named = replace(place, id=f"{within}{place.id}", when=joined("and", when, place.when))
        if not place.routine:
            found.append(replace(named, body=expanded(place.body, within=within)))
            continue
        inner = expanded(place.body, within=f"{within}{place.id}.", when=named.when)
        found += [*inner[:-1], _confirmed(inner[-1], place) if place.asks else inner[-1]]
    return tuple(found)


def _confirmed(last: Place, call: Place) -> Place:
    when = joined("or", call.asks_when, last.asks_when) if last.asks else call.asks_when
    return replace(last, asks=True, asks_when=when)
