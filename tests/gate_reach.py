"""Which places of a workflow may be come to, whatever an agent says of everything that is its own to say.

This is found from what was written, by no rule of the engine: a place is reached where some way leads to it on which nobody
has to be asked but who has answered.
"""

from dataclasses import replace
from itertools import product

from tests.gate_play import COMPLETE
from tests.gate_programs import KEPT, Tests, walk

APPROVES = "approve"


def reachable(written, told, *, is_lenient=False, given=None, is_led=False):
    """The places that may be come to when `told` were the variables in each activity that a run stood in, and people have
    answered what is in `given`: options by the place that asked. Lenient, what is wanted and not there stops nobody: an agent may choose that, and
    may not choose to go past people. Where the server led all the way, no agent's word opens a way.
    """
    return _Reach(written, told, is_lenient=is_lenient, given=given or {}, is_led=is_led).found()


class _Reach:
    def __init__(self, written, told, *, is_lenient, given, is_led):
        self.visits = {visit.id: visit for visit in written.visits}
        self.first = written.visits[0].id
        self.modes, self.is_lenient, self.given, self.is_led = written.modes, is_lenient, given, is_led
        self.by_activity, self.ever = told, [variables for told_there in told.values() for variables in told_there]
        self.told = self.ever
        self.is_loose = bool(self.modes) or any(choice.drops for place in written.places for choice in place.choices)
        # What activities set when they are entered or left: a walk through several of them shows the last values alone.
        self.unknown = frozenset(name for visit in written.visits for name, _ in (*visit.entry, *visit.exit))
        self.kept, self.moving = {}, frozenset()
        self.places = set()
        begun = dict.fromkeys(KEPT, False)
        self.waiting = [(self.first, begun)]
        for mode, pairs in written.begins.items():
            if any(variables.get(mode) is True for variables in self.ever):
                self.waiting.append((self.first, begun | _kept(pairs)))

    def found(self):
        entered = []
        while self.waiting:
            name, kept = self.waiting.pop()
            if name not in self.visits:
                self.places.add(COMPLETE)
            elif (name, kept) not in entered:
                entered.append((name, kept))
                self.enter(self.visits[name], kept)
        return self.places

    def enter(self, visit, kept):
        self.kept = {**kept, **_kept(visit.entry)}
        # Where a run never stood it may have passed through at any moment.
        self.told = self.by_activity.get(visit.id, self.ever)
        # What is set in the activity itself may have been read before or after.
        self.moving = frozenset(name for place in walk(visit.body) for name, _ in _set_in(place))
        before = self.kept
        is_open = self.flow(visit.body, is_top=True)
        if is_open:
            for after in self.envs(visit, before, all_done=True):
                self.leave(visit, after)
        if self.may_be_dropped(visit.id):
            self.leave(visit, kept, is_left_out=True)

    def leave(self, visit, kept, *, is_left_out=False):
        kept = kept if is_left_out else {**kept, **_kept(visit.exit)}
        self.kept, self.moving = kept, frozenset()
        self.waiting.append((self.first, kept))
        is_sure = False
        for target, test in visit.ways:
            if test is None and is_sure and not self.is_loose:
                continue
            if not self.may_hold(test, kept):
                continue
            is_sure = is_sure or test is None or test.name in KEPT
            self.waiting.append((target, kept))
        if not is_sure or self.is_loose:
            self.places.add(COMPLETE)

    def may_hold(self, test, kept):
        if test is None or self.is_loose:
            return True
        if test.name in KEPT:
            return test.holds(kept)
        is_known = self.is_led and test.name not in self.unknown
        return not is_known or any(test.holds(variables) for variables in self.told)

    def envs(self, visit, before, *, all_done):
        """What the steps and answers of the activity may have left: those that must be done have set what they set."""
        surely, maybe = {}, {}
        due = {place.id for place in _due(visit.body)} if all_done else set()
        for place in walk(visit.body):
            for name, value in _kept(place.sets).items():
                (surely if place.id in due else maybe).setdefault(name, []).append(value)
            for choice in self.choices(place):
                for name, value in _kept(choice.sets).items():
                    maybe.setdefault(name, []).append(value)
        values = [[*surely.get(name, [before[name]]), *maybe.get(name, [])] for name in KEPT]
        return [dict(zip(KEPT, each, strict=True)) for each in product(*values)]

    def choices(self, place):
        """The options that may have been chosen: of what people are asked, those that they did."""
        if not place.asks:
            return place.choices
        return [choice for choice in place.choices if choice.id in self.given.get(place.id, ())]

    def may_be_dropped(self, name):
        by_mode = any(
            name in names and any(told.get(mode) is True for told in self.ever) for mode, names in self.modes.items()
        )
        every = [place for visit in self.visits.values() for place in walk(visit.body)]
        return by_mode or any(
            name in choice.drops and place.id in self.places for place in every for choice in self.choices(place)
        )

    def surely(self, test):
        """Whether it held all the time; what changed on the way may have been read at any moment."""
        if test is None:
            return True
        if isinstance(test, Tests):
            return all(test.holds(variables) for variables in self.told)
        if test.name in KEPT:
            return test.name not in self.moving and test.holds(self.kept)
        return test.name not in self.unknown and all(test.holds(variables) for variables in self.told)

    def flow(self, body, *, is_armed=False, is_top=False):
        """Whether the end of the body may be come to. By hand the steps at the top that nobody approves are tried in any order;
        what they want is wanted before the end, and before a loop.
        """
        is_owed = False
        for place in body:
            if place.is_on_demand:
                self.places.add(place.id)
                self.lead(place)
                continue
            if is_owed and (place.loops or place.is_question):
                if self.surely(place.when):
                    return False
                continue
            self.places.add(place.id)
            if self.passes(place, body, is_armed=is_armed) or self.may_be_left_out(place, body):
                is_armed = is_armed and not self.is_begun(place)
                continue
            if not is_top or not place.wants:
                return False
            is_owed = True
        return not is_owed

    def may_be_left_out(self, place, body):
        if place.loops and not self.has_a_round(place):
            return True
        step = next((each for each in body if place.follows and each.id == place.follows), None)
        if step is not None and not self.surely(step.when):
            return True
        return not self.surely(place.when) or (place.is_optional and not self.is_asked_about(place, body))

    def is_asked_about(self, place, body):
        return place.asks or any(each.follows == place.id and each.asks for each in body)

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

    def passes(self, place, body, *, is_armed):
        asks = is_armed or (place.asks and self.surely(place.asks_when))
        if place.loops:
            # Whoever has approved a first work of the loop has approved the loop, also for its next rounds.
            return self.flow(place.body, is_armed=asks and not self.is_begun(place))
        if asks and (place.is_question or APPROVES in self.given.get(place.id, ())):
            asks = place.id not in self.given
        if not asks:
            self.lead(place)
        return not asks and (self.is_lenient or not place.wants)

    def is_begun(self, place):
        return any(APPROVES in self.given.get(inner.id, ()) for inner in walk((place,)))

    def lead(self, place):
        visit = next(each for each in self.visits.values() if place in walk(each.body))
        for choice in self.choices(place):
            if choice.lead:
                for kept in self.envs(visit, self.kept, all_done=False):
                    self.waiting.append((choice.lead, {**kept, **_kept(choice.sets), **_kept(visit.exit)}))


def _due(body):
    """The steps that are done whatever is said of anything."""
    for place in body:
        if place.when is None and place.loops == "doWhile":
            yield from _due(place.body)
        elif place.when is None and not place.is_optional and not place.loops:
            yield place


def _kept(pairs):
    return {name: value for name, value in pairs if name in KEPT}


def _set_in(place):
    return (*place.sets, *(pair for choice in place.choices for pair in choice.sets))
