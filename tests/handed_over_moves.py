"""Calls on runs that are handed over as Hypothesis makes them up: manifests, yields, answers; mostly in order, now and then not."""

from hypothesis import strategies as st

from sessions_app.engine.decisions import Answer, AnswerMode, EnterActivity
from sessions_app.engine.manifests import ActivityOutcome, ManifestEntry

STEPS = ["draft", "first", "deep", "deeper", "last", "review", "free", "make", "ship", "tidy"]
# Loops, gates and questions are no steps, and may be named like any other word.
STRANGE = ["outer", "inner", "ask-sure", "ask-soft", "ask-human", "sure", "nothing", "", "Draft", "draft ", "plan"]
PLAIN = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)
WORDS = st.one_of(*[PLAIN] * 4, st.sampled_from(["", " \n", "Did it.", "a" * 3_000, "b" * 5_000]))
UNSTORABLE = st.sampled_from(["\0", "Did\0 it.", "\ud800"])


def rarely(strange, usual, *, among=12):
    return st.integers(1, among).flatmap(lambda at: strange if at == among else usual)


ENTRIES = st.builds(
    ManifestEntry,
    step_id=rarely(st.sampled_from(STRANGE), st.sampled_from(STEPS), among=4),
    output=rarely(UNSTORABLE, WORDS, among=60),
)
TARGETS = rarely(st.sampled_from(["workflow-end", "nowhere", ""]), st.sampled_from(["plan", "build", "ask"]))
OUTCOMES = st.builds(ActivityOutcome, activity_id=TARGETS, outcome=WORDS, transition_condition=WORDS)
MOVES = st.builds(
    EnterActivity,
    activity_id=TARGETS,
    claim=rarely(UNSTORABLE, st.none() | WORDS, among=60),
    manifest=rarely(st.none(), st.lists(ENTRIES, min_size=1, max_size=12).map(tuple), among=5),
    outcomes=st.none() | st.lists(OUTCOMES, max_size=3).map(tuple),
    asks_on_entry=rarely(st.just(value=True), st.just(value=False), among=4),
)
YIELDS = st.sampled_from(["sure", "soft", "human", "ship", "nothing"])
RESOLVES = st.builds(
    Answer,
    mode=st.sampled_from(list(AnswerMode)),
    checkpoint_id=st.sampled_from(["", "sure", "soft", "human", "ship"]),
    option_id=st.sampled_from(["yes", "leads", "approve", "no"]),
)
# A signed-in person chooses that option wherever one is asked.
PERSONS = st.sampled_from([("yes", "approve"), ("leads", "approve")])
ANY = st.one_of(MOVES, MOVES, PERSONS, PERSONS, YIELDS, RESOLVES)
