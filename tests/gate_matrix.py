"""What must happen at each gate, in each dialect, under each mode, by each way of moving on: the first rule that fits says it."""

from dataclasses import dataclass
from enum import StrEnum

from tests.gate_kinds import Kind
from tests.gate_play import DIALECTS, HANDED_OVER
from tests.gate_scenes import Mode
from tests.gate_ways import WAYS, Way


class Outcome(StrEnum):
    """The `may` ones: it need not go on; if it does, it is disclosed, or names who waived it."""

    HOLDS = "holds"
    PASSES = "passes"
    DISCLOSED = "passes with a critical gap"
    NAMED = "passes with a critical gap that names the person"
    MAY_DISCLOSED = "may pass, with a critical gap"
    MAY_NAMED = "may pass, with a critical gap that names the person"
    FREE = "is not gated here"
    NO_SUCH_WAY = "no such way"


@dataclass(frozen=True, kw_only=True)
class Rule:
    kinds: frozenset[Kind]
    outcome: Outcome
    because: str
    dialects: frozenset[str] = frozenset(DIALECTS)
    modes: frozenset[Mode] = frozenset(Mode)
    ways: frozenset[Way]

    def fits(self, kind, dialect, mode, way):
        return kind in self.kinds and dialect in self.dialects and mode in self.modes and way in self.ways


# Who has to answer.
PEOPLE = frozenset(
    {
        Kind.APPROVAL,
        Kind.CONDITIONAL_APPROVAL,
        Kind.LOOP_APPROVAL,
        Kind.PEOPLES_QUESTION,
        Kind.UNNAMED_QUESTION,
    }
)
USER = frozenset({Kind.RELAYED_QUESTION})
PROGRAM = frozenset({Kind.CONTRACT, Kind.JUDGED_NOTES, Kind.CAPABILITY, Kind.CONTEXT})
HANDED_IN = frozenset({Kind.CONTRACT, Kind.CAPABILITY})

BLOCKING = frozenset({Mode.GUIDED, Mode.STOP})
BY_AGENT = BLOCKING | {Mode.NEVER_BY_AGENT}
NEVER = frozenset({Mode.NEVER_BY_AGENT, Mode.NEVER_BY_PERSON})
RAIL = frozenset({"rail"})

GOING_ON = frozenset(
    {
        Way.ADVANCE,
        Way.OMIT,
        Way.JUMP,
        Way.COMPLETE,
        Way.END,
        Way.FORK_BEFORE,
        Way.REHYDRATE,
        Way.CHILD,
        Way.TRIGGER,
        Way.CROSS,
        Way.REPLAY,
        Way.ROTATE,
        Way.CONTEXT,
        Way.BOOKMARK,
        Way.MODE,
        Way.TOKEN,
        Way.REVISION,
        Way.RETRY,
        Way.REST_TOOLS,
        Way.REST_RUNS,
    }
)
CLAIMS = frozenset({Way.ANSWER, Way.EARLY, Way.WRONG, Way.DISMISS})
EVERY_ATTEMPT = GOING_ON | CLAIMS
HONEST = frozenset({Way.ADVANCE})

RULES = (
    Rule(
        kinds=HANDED_IN,
        dialects=frozenset(HANDED_OVER),
        ways=frozenset({Way.SATISFY}),
        outcome=Outcome.FREE,
        because="a manifest has no place for artifacts, so nobody can hand one in here",
    ),
    Rule(
        kinds=frozenset(Kind),
        ways=frozenset({Way.SATISFY}),
        outcome=Outcome.PASSES,
        because="the right authority answered, or what is demanded was handed in",
    ),
    Rule(
        kinds=frozenset({Kind.CONTEXT}),
        dialects=frozenset(HANDED_OVER),
        ways=EVERY_ATTEMPT,
        outcome=Outcome.FREE,
        because="a manifest tells the rounds of a loop itself, so no list is waited for",
    ),
    Rule(
        kinds=USER,
        dialects=frozenset({"orchestrator"}),
        ways=GOING_ON,
        outcome=Outcome.FREE,
        because="its contract asks what a worker yields, and nothing before; who yields nothing is warned",
    ),
    Rule(
        kinds=USER,
        dialects=frozenset({"session"}),
        ways=frozenset({Way.JUMP}),
        outcome=Outcome.FREE,
        because="its contract asks when the activity is entered; who enters another one is warned",
    ),
    Rule(
        kinds=PEOPLE,
        modes=BY_AGENT,
        ways=EVERY_ATTEMPT,
        outcome=Outcome.HOLDS,
        because="only a person answers, and only a person waives; an agent's mode is no waiver",
    ),
    Rule(
        kinds=PEOPLE,
        modes=frozenset({Mode.NEVER_BY_PERSON}),
        ways=HONEST,
        outcome=Outcome.NAMED,
        because="a person said that this run never stops",
    ),
    Rule(
        kinds=PEOPLE,
        modes=frozenset({Mode.NEVER_BY_PERSON}),
        ways=EVERY_ATTEMPT,
        outcome=Outcome.MAY_NAMED,
        because="a person waived the approval, not the order of the steps; what goes on names them",
    ),
    Rule(
        kinds=USER,
        ways=frozenset({Way.ANSWER}),
        outcome=Outcome.PASSES,
        because="an agent passes on what its user chose, once it can have been read",
    ),
    Rule(
        kinds=USER | PROGRAM,
        dialects=RAIL,
        modes=BLOCKING,
        ways=frozenset({Way.MODE}),
        outcome=Outcome.DISCLOSED,
        because="never-stop that an agent chose passes what the contract lists, as gaps",
    ),
    Rule(
        kinds=USER | PROGRAM,
        modes=BLOCKING,
        ways=EVERY_ATTEMPT,
        outcome=Outcome.HOLDS,
        because="what blocks in one dialect blocks in every one",
    ),
    Rule(
        kinds=USER | PROGRAM,
        dialects=RAIL,
        modes=NEVER,
        ways=HONEST,
        outcome=Outcome.DISCLOSED,
        because="a run that never stops goes on, and says what is missing",
    ),
    Rule(
        kinds=USER | PROGRAM,
        modes=NEVER,
        ways=EVERY_ATTEMPT,
        outcome=Outcome.MAY_DISCLOSED,
        because="a run that never stops may go on, and then says what is missing",
    ),
)


def rule_for(kind, dialect, mode, way):
    """None where nobody has said what must happen."""
    return next((rule for rule in RULES if rule.fits(kind, dialect, mode, way)), None)


def outcome_of(kind, dialect, mode, way):
    no_way = isinstance(WAYS[dialect].get(way), str) or (mode is Mode.NEVER_BY_AGENT and dialect in HANDED_OVER)
    if no_way:
        return Outcome.NO_SUCH_WAY
    rule = rule_for(kind, dialect, mode, way)
    assert rule is not None, f"Nobody said what must happen to {kind} by {way} in {dialect} under {mode}."
    return rule.outcome


def broken(outcome, scene):
    """What is wrong with the scene after the way was tried; empty where all is as it must be."""
    passed, disclosed, named = scene.has_passed, scene.is_disclosed, scene.names_person
    match outcome:
        case Outcome.HOLDS:
            return "it went past the gate" if passed else ""
        case Outcome.PASSES:
            return "" if passed else "it did not go on"
        case Outcome.DISCLOSED:
            return "" if passed and disclosed else "it did not go on with a critical gap"
        case Outcome.NAMED:
            return "" if passed and named else "it did not go on with a gap that names the person"
        case Outcome.MAY_DISCLOSED:
            return "it went on without a critical gap" if passed and not disclosed else ""
        case Outcome.MAY_NAMED:
            return "it went on without a gap that names the person" if passed and not named else ""
        case Outcome.FREE | Outcome.NO_SUCH_WAY:
            return ""
    raise AssertionError(outcome)
