"""The compiled form that every dialect runs: one frozen tree, the same for both authoring formats.

A program is named by the digest of its canonical bytes. Nothing in it depends on a path, a clock, the order of keys, or the
machine. Fields at their default are not written, so a field that is added later does not rename the programs that lack it;
any other change of what the compiler writes raises `COMPILER_VERSION`.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any

import msgspec

from workflows_app.engine import canonical

COMPILER_VERSION = 5


class _Node(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    pass


# --- Conditions: an absent one is None and holds -----------------------------------------------------------------


class ConditionMode(StrEnum):
    """Strict compares as written; lenient trims, folds case and reads "1" as 1, as the 0.3.0 format promises."""

    STRICT = "strict"
    LENIENT = "lenient"


class Operator(StrEnum):
    EQUALS = "equals"
    NOT_EQUALS = "not_equals"
    GT = "gt"
    GTE = "gte"
    LT = "lt"
    LTE = "lte"
    CONTAINS = "contains"
    STARTS_WITH = "startsWith"
    ENDS_WITH = "endsWith"
    MATCHES = "matches"
    IN = "in"
    EXISTS = "exists"
    NOT_EXISTS = "notExists"


class Compare(_Node, frozen=True, kw_only=True, tag="compare", tag_field="kind"):
    path: tuple[str, ...]
    operator: Operator
    value: Any = None


class Truthy(_Node, frozen=True, kw_only=True, tag="truthy", tag_field="kind"):
    path: tuple[str, ...]


class AllOf(_Node, frozen=True, kw_only=True, tag="and", tag_field="kind"):
    conditions: tuple["Condition", ...]


class AnyOf(_Node, frozen=True, kw_only=True, tag="or", tag_field="kind"):
    conditions: tuple["Condition", ...]


class Not(_Node, frozen=True, kw_only=True, tag="not", tag_field="kind"):
    condition: "Condition"


class Broken(_Node, frozen=True, kw_only=True, tag="broken", tag_field="kind"):
    """A shape that is no condition. Reaching it makes the whole condition false, also under `not`."""

    reason: str


Condition = Compare | Truthy | AllOf | AnyOf | Not | Broken


# --- Closed sets of the rail family ------------------------------------------------------------------------------------


class Autonomy(StrEnum):
    GUIDED = "guided"
    STOP_ON_USER_DEPS = "full_auto_stop_on_user_deps"
    NEVER_STOP = "full_auto_never_stop"


class RiskPolicy(StrEnum):
    CONSERVATIVE = "conservative"
    BALANCED = "balanced"
    AGGRESSIVE = "aggressive"


class Capability(StrEnum):
    DELEGATION = "delegation"
    WEB_BROWSING = "web_browsing"


class CapabilityNeed(StrEnum):
    REQUIRED = "required"
    PREFERRED = "preferred"
    DISABLED = "disabled"


class ModelTier(StrEnum):
    LIGHTWEIGHT = "lightweight"
    MID = "mid"
    HEAVY = "heavy"


class ConfirmationKind(StrEnum):
    """ALWAYS is the bare `true`, CONDITIONAL a bare condition, the others name who confirms."""

    ALWAYS = "always"
    CONDITIONAL = "conditional"
    COORDINATOR_EVAL = "coordinator_eval"
    HUMAN_APPROVAL = "human_approval"


class Confirmation(_Node, frozen=True, kw_only=True):
    confirms: ConfirmationKind
    condition: Condition | None = None


# --- What a step asks to be handed in ------------------------------------------------------------------------------------


class ContractUse(_Node, frozen=True, kw_only=True):
    """`contract` is a key of `Program.contracts`."""

    contract: str
    required: bool = True


class RuleKind(StrEnum):
    CONTAINS = "contains"
    REGEX = "regex"
    LENGTH = "length"
    SCHEMA = "schema"


class Rule(_Node, frozen=True, kw_only=True, tag="rule", tag_field="kind"):
    check: RuleKind
    message: str
    value: str = ""
    pattern: str = ""
    flags: str = ""
    min_length: int | None = None
    max_length: int | None = None
    schema: dict[str, Any] | None = None
    condition: Condition | None = None


class AllRules(_Node, frozen=True, kw_only=True, tag="and", tag_field="kind"):
    rules: tuple["Validation", ...]


class AnyRule(_Node, frozen=True, kw_only=True, tag="or", tag_field="kind"):
    rules: tuple["Validation", ...]


class NotRule(_Node, frozen=True, kw_only=True, tag="not", tag_field="kind"):
    rule: "Validation"


Validation = Rule | AllRules | AnyRule | NotRule


class Consequence(_Node, frozen=True, kw_only=True):
    """While any dimension of the assessment equals `level`, the step asks for a follow-up."""

    level: str
    guidance: str
    assessment: str = ""


class Dimension(_Node, frozen=True, kw_only=True):
    id: str
    purpose: str
    levels: tuple[str, ...]
    required: bool = True


class Assessment(_Node, frozen=True, kw_only=True):
    id: str
    purpose: str
    dimensions: tuple[Dimension, ...]


class Contract(_Node, frozen=True, kw_only=True):
    """A contract as it was when the program was compiled: its schema and an example that satisfies it."""

    artifact_kind: str
    schema: dict[str, Any]
    example: dict[str, Any]
    summary: str = ""


# --- Steps and their kin ---------------------------------------------------------------------------------------------


class Fragment(_Node, frozen=True, kw_only=True):
    """Text appended to the prompt when its condition holds."""

    id: str
    text: str
    when: Condition | None = None


class Function(_Node, frozen=True, kw_only=True):
    name: str
    definition: str
    parameters: tuple[dict[str, Any], ...] = ()


class FunctionCall(_Node, frozen=True, kw_only=True):
    name: str
    arguments: dict[str, Any] = msgspec.field(default_factory=dict)


class Delegation(_Node, frozen=True, kw_only=True):
    workflow: str
    goal: str = ""
    run_condition: Condition | None = None
    context_mapping: dict[str, str] = msgspec.field(default_factory=dict)
    arguments: dict[str, str] = msgspec.field(default_factory=dict)
    model_tier: ModelTier | None = None
    allowed_tools: tuple[str, ...] = ()


class Audit(_Node, frozen=True, kw_only=True):
    prompt: str = ""
    rubric: tuple[str, ...] = ()


class Verification(_Node, frozen=True, kw_only=True):
    command: str = ""
    prompt: str = ""


class ActionKind(StrEnum):
    LOG = "log"
    VALIDATE = "validate"
    SET = "set"
    EMIT = "emit"
    MESSAGE = "message"


class Action(_Node, frozen=True, kw_only=True):
    action: ActionKind
    target: str = ""
    message: str = ""
    description: str = ""
    value: Any = None
    # `value: null`, written out: what was in the variable is gone. Without a value the agent decides.
    clears: bool = False
    condition: Condition | None = None
    extra: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def leaves_open(self) -> bool:
        return self.action is ActionKind.SET and bool(self.target) and self.value is None and not self.clears


class Trigger(_Node, frozen=True, kw_only=True):
    """Starts another workflow; the parent waits. `pass_context` names the variables that the child receives."""

    workflow: str
    description: str = ""
    pass_context: tuple[str, ...] = ()
    extra: dict[str, Any] = msgspec.field(default_factory=dict)


class Step(_Node, frozen=True, kw_only=True, tag="step", tag_field="kind"):
    """`prompt` is assembled but for run-time values: `{{var}}` and the fragments wait for the context.

    `id` is unique in the program's activity; a step that a routine brought in is `<caller>.<step>`.
    """

    id: str
    title: str
    prompt: str = ""
    description: str = ""
    agent_role: str = ""
    guidance: tuple[str, ...] = ()
    fragments: tuple[Fragment, ...] = ()
    run_condition: Condition | None = None
    confirmation: Confirmation | None = None
    contract: ContractUse | None = None
    validation: Validation | None = None
    assessments: tuple[str, ...] = ()
    consequences: tuple[Consequence, ...] = ()
    notes_required: bool = True
    ask_for_files: bool = False
    model_tier: ModelTier | None = None
    functions: tuple[Function, ...] = ()
    function_calls: tuple[FunctionCall, ...] = ()
    audit: Audit | None = None
    verification: Verification | None = None
    probes: Capability | None = None
    # Activity workflows
    skill: str = ""
    skill_arguments: dict[str, Any] = msgspec.field(default_factory=dict)
    required: bool = True
    actions: tuple[Action, ...] = ()
    checkpoint: str = ""
    triggers: tuple[Trigger, ...] = ()
    extra: dict[str, Any] = msgspec.field(default_factory=dict)


class Parallel(_Node, frozen=True, kw_only=True, tag="parallel", tag_field="kind"):
    """Work that the agent hands to others; the engine shows it as one step. `prompt` is the rendered whole."""

    id: str
    title: str
    prompt: str
    delegations: tuple[Delegation, ...]
    synthesis_prompt: str = ""
    contract: ContractUse | None = None
    run_condition: Condition | None = None
    confirmation: Confirmation | None = None
    notes_required: bool = True
    agent_role: str = ""
    guidance: tuple[str, ...] = ()
    functions: tuple[Function, ...] = ()


class Gate(_Node, frozen=True, kw_only=True, tag="gate", tag_field="kind"):
    """The place in the order of work where a checkpoint of the activity is asked."""

    id: str
    checkpoint: str
    # The step that names the checkpoint; empty where the gate stands for itself.
    step: str = ""


class LoopKind(StrEnum):
    WHILE = "while"
    UNTIL = "until"
    FOR = "for"
    FOR_EACH = "forEach"
    DO_WHILE = "doWhile"


class Loop(_Node, frozen=True, kw_only=True, tag="loop", tag_field="kind"):
    """All kinds test before a round, except doWhile, which tests after it.

    The decision to go on comes from `decision_contract` (the loop-control artifact of the step just completed; absent means
    go on) when set, else from `condition`. Reaching `max_iterations` while the decision says "go on" is a failure that is
    said aloud. `count` is a number or the path of one, `items` the path of a list.
    """

    id: str
    title: str
    loops: LoopKind
    body: tuple["Item", ...]
    max_iterations: int = 100
    condition: Condition | None = None
    decision_contract: str = ""
    decision_loop_id: str = ""
    break_condition: Condition | None = None
    count: int | tuple[str, ...] | None = None
    items: tuple[str, ...] = ()
    iteration_variable: str = ""
    item_variable: str = ""
    index_variable: str = ""
    run_condition: Condition | None = None
    confirmation: Confirmation | None = None
    description: str = ""
    # Loops of activity workflows that repeat whole activities name them; the agent walks those.
    activities: tuple[str, ...] = ()
    extra: dict[str, Any] = msgspec.field(default_factory=dict)


Item = Step | Parallel | Gate | Loop


# --- Activities --------------------------------------------------------------------------------------------------------


class Effect(_Node, frozen=True, kw_only=True):
    set_variable: dict[str, Any] = msgspec.field(default_factory=dict)
    transition_to: str = ""
    skip_activities: tuple[str, ...] = ()
    extra: dict[str, Any] = msgspec.field(default_factory=dict)


class Option(_Node, frozen=True, kw_only=True):
    id: str
    label: str
    description: str = ""
    effect: Effect | None = None
    extra: dict[str, Any] = msgspec.field(default_factory=dict)


class Checkpoint(_Node, frozen=True, kw_only=True):
    """A question for a human. `human` asks for a signed-in person; otherwise the agent relays its user's answer."""

    id: str
    name: str
    message: str
    options: tuple[Option, ...]
    condition: Condition | None = None
    required: bool = True
    blocking: bool = True
    default_option: str = ""
    auto_advance_ms: int | None = None
    prerequisite: str = ""
    human: bool = False
    extra: dict[str, Any] = msgspec.field(default_factory=dict)


class Transition(_Node, frozen=True, kw_only=True):
    to: str
    condition: Condition | None = None
    is_default: bool = False
    extra: dict[str, Any] = msgspec.field(default_factory=dict)


class Branch(_Node, frozen=True, kw_only=True):
    id: str
    label: str
    condition: Condition | None = None
    transition_to: str = ""
    is_default: bool = False
    extra: dict[str, Any] = msgspec.field(default_factory=dict)


class DecisionPoint(_Node, frozen=True, kw_only=True):
    id: str
    name: str
    branches: tuple[Branch, ...]
    description: str = ""
    extra: dict[str, Any] = msgspec.field(default_factory=dict)


class Artifact(_Node, frozen=True, kw_only=True):
    id: str
    name: str
    location: str = ""
    description: str = ""
    updates: bool = False
    extra: dict[str, Any] = msgspec.field(default_factory=dict)


class Activity(_Node, frozen=True, kw_only=True):
    """`body` is the order of work: steps, each followed by the gate it names, then the loops; gates that no step names
    come first. `checkpoints` lists all that the activity declares, also those asked only on demand.
    """

    id: str
    title: str
    body: tuple[Item, ...]
    version: str = ""
    description: str = ""
    problem: str = ""
    recognition: tuple[str, ...] = ()
    primary_skill: str = ""
    supporting_skills: tuple[str, ...] = ()
    checkpoints: tuple[Checkpoint, ...] = ()
    decisions: tuple[DecisionPoint, ...] = ()
    transitions: tuple[Transition, ...] = ()
    triggers: tuple[Trigger, ...] = ()
    entry_actions: tuple[Action, ...] = ()
    exit_actions: tuple[Action, ...] = ()
    outcome: tuple[str, ...] = ()
    context_to_preserve: tuple[str, ...] = ()
    required: bool = True
    estimated_time: str = ""
    rules: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    artifact_prefix: str = ""
    artifacts: tuple[Artifact, ...] = ()
    borrowed_from: str = ""
    extra: dict[str, Any] = msgspec.field(default_factory=dict)


class VariableType(StrEnum):
    STRING = "string"
    NUMBER = "number"
    BOOLEAN = "boolean"
    ARRAY = "array"
    OBJECT = "object"


class Variable(_Node, frozen=True, kw_only=True):
    name: str
    type: VariableType
    description: str = ""
    has_default: bool = False
    default: Any = None
    required: bool = False
    extra: dict[str, Any] = msgspec.field(default_factory=dict)


class WorkflowMode(_Node, frozen=True, kw_only=True):
    id: str
    name: str
    activation_variable: str
    description: str = ""
    recognition: tuple[str, ...] = ()
    skip_activities: tuple[str, ...] = ()
    defaults: dict[str, Any] = msgspec.field(default_factory=dict)
    resource: str = ""
    extra: dict[str, Any] = msgspec.field(default_factory=dict)


class ArtifactLocation(_Node, frozen=True, kw_only=True):
    path: str
    description: str = ""
    gitignored: bool = False
    extra: dict[str, Any] = msgspec.field(default_factory=dict)


class RoleDefinition(_Node, frozen=True, kw_only=True):
    id: str
    description: str
    extra: dict[str, Any] = msgspec.field(default_factory=dict)


class ExtensionPoint(_Node, frozen=True, kw_only=True):
    slot: str
    purpose: str
    default: str
    bound_to: str


class Reference(_Node, frozen=True, kw_only=True):
    """A pointer that the agent may follow; the server reads nothing from it."""

    id: str
    title: str
    source: str
    purpose: str
    authoritative: bool
    resolve_from: str = "workspace"


class ProvenanceKind(StrEnum):
    ROUTINE = "routine"
    FEATURE = "feature"
    REF = "ref"
    BINDING = "binding"
    PROBE = "probe"
    BORROWED = "borrowed"
    META = "meta"


class Provenance(_Node, frozen=True, kw_only=True):
    """Where an injected part came from: `at` is the step or activity that received it."""

    at: str
    kind: ProvenanceKind
    source: str
    digest: str = ""


class Attachment(_Node, frozen=True, kw_only=True):
    """A skill, resource or template, by content. `owner` is the workflow whose folder holds it."""

    id: str
    digest: str
    owner: str
    index: str = ""
    version: str = ""
    title: str = ""
    summary: str = ""
    format: str = ""
    resources: tuple[str, ...] = ()
    # What the file of a resource or template is called, without number and ending, where its id says otherwise.
    file_name: str = ""


# --- The whole -----------------------------------------------------------------------------------------------------------


class Family(StrEnum):
    """Which authoring format a program was compiled from."""

    STEPS = "steps"
    ACTIVITIES = "activities"


class WorkflowKind(StrEnum):
    WORKFLOW = "workflow"
    ROUTINE = "routine"


class Program(_Node, frozen=True, kw_only=True):
    compiler: int
    family: Family
    id: str
    title: str
    version: str
    conditions: ConditionMode
    activities: tuple[Activity, ...]
    initial_activity: str
    kind: WorkflowKind = WorkflowKind.WORKFLOW
    schema_version: str = ""
    description: str = ""
    author: str = ""
    tags: tuple[str, ...] = ()
    about: str = ""
    examples: tuple[str, ...] = ()
    preconditions: tuple[str, ...] = ()
    clarification_prompts: tuple[str, ...] = ()
    guidance: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    variables: tuple[Variable, ...] = ()
    modes: tuple[WorkflowMode, ...] = ()
    roles: tuple[RoleDefinition, ...] = ()
    artifact_locations: dict[str, ArtifactLocation] = msgspec.field(default_factory=dict)
    recommended_autonomy: Autonomy | None = None
    recommended_risk_policy: RiskPolicy | None = None
    capabilities: dict[Capability, CapabilityNeed] = msgspec.field(default_factory=dict)
    features: tuple[str, ...] = ()
    functions: tuple[Function, ...] = ()
    assessments: tuple[Assessment, ...] = ()
    contracts: dict[str, Contract] = msgspec.field(default_factory=dict)
    extension_points: tuple[ExtensionPoint, ...] = ()
    references: tuple[Reference, ...] = ()
    model_tier: ModelTier | None = None
    metrics_profile: str = ""
    primary_skill: str = ""
    skill_ids: tuple[str, ...] = ()
    skills: tuple[Attachment, ...] = ()
    resources: tuple[Attachment, ...] = ()
    templates: tuple[Attachment, ...] = ()
    global_rules: str = ""
    provenance: tuple[Provenance, ...] = ()
    extra: dict[str, Any] = msgspec.field(default_factory=dict)

    def activity(self, activity_id: str) -> Activity | None:
        for activity in self.activities:
            if activity.id == activity_id:
                return activity
        return None


def program_bytes(program: Program) -> bytes:
    return canonical.canonical_bytes(msgspec.to_builtins(program))


def workflow_hash(program: Program) -> str:
    return canonical.digest(program_bytes(program))


_DECODER = msgspec.json.Decoder(Program)


def program_from_bytes(data: bytes) -> Program:
    """The program behind its stored bytes; raises `msgspec.ValidationError` for bytes that no compiler of ours wrote."""
    return _DECODER.decode(data)


def walk_items(items: tuple[Item, ...]) -> Iterator[Item]:
    """Every item of a body, loops before what they hold."""
    for item in items:
        yield item
        if isinstance(item, Loop):
            yield from walk_items(item.body)


def questions_for_people(program: Program) -> int:
    """How many steps and questions only a person settles: what a mode that never stops passes over."""
    items = (item for activity in program.activities for item in walk_items(activity.body))
    asks = (item.confirmation for item in items if isinstance(item, Step | Loop))
    approvals = sum(1 for ask in asks if ask is not None and ask.confirms is ConfirmationKind.HUMAN_APPROVAL)
    return approvals + sum(asked.human for activity in program.activities for asked in activity.checkpoints)
