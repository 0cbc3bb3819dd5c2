"""What a step sees from where it stands (`Scope`), and what one compilation gathers on its way (`Build`)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workflows_app.engine.canonical import canonical_bytes
from workflows_app.engine.conditions import parse_steps_condition
from workflows_app.engine.contracts import BUILT_IN
from workflows_app.engine.problems import ProblemCode, Severity
from workflows_app.engine.program import (
    AllOf,
    Assessment,
    Capability,
    CapabilityNeed,
    Condition,
    ConditionMode,
    Contract,
    ExtensionPoint,
    Fragment,
    Function,
    ModelTier,
    Provenance,
    ProvenanceKind,
    Reference,
)
from workflows_app.engine.source import Library
from workflows_app.engine.steps.findings import StepFindings, shown
from workflows_app.engine.steps.left_out import LeftOut

# Bounds on what references and templates can make of a small document.
MAX_ITEMS = 2_000
MAX_RULES = 2_000
MAX_PROGRAM_CHARS = 8 * 1024 * 1024

Sibling = tuple[dict[str, Any], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepScope:
    """`siblings` are the steps at the top of the same document by id, with their places: what a loop may name as its body."""

    findings: StepFindings
    mode: ConditionMode
    tolerant: bool
    siblings: Mapping[str, Sibling] = field(default_factory=dict)
    functions: Mapping[str, Function] = field(default_factory=dict)
    slots: Mapping[str, str] = field(default_factory=dict)
    features: tuple[str, ...] = ()
    agent_role: str = ""
    guidance: tuple[str, ...] = ()
    notes_optional: bool = False
    fragments: tuple[Fragment, ...] = ()
    shared_functions: tuple[Function, ...] = ()
    model_tier: ModelTier | None = None
    # Inside a routine: what stands before the ids, and where the routine came from.
    prefix: str = ""
    template: Provenance | None = None
    loops: tuple[str, ...] = ()
    # False when no text of the document holds double braces, so that nobody need look for them.
    braces: bool = True


@dataclass(slots=True, kw_only=True)
class Build:
    """Mutable, and alive for one compilation only."""

    library: Library
    findings: StepFindings
    workflow_id: str = ""
    # Every name under which a routine of the library may be spoken of.
    routine_ids: frozenset[str] = frozenset()
    assessments: dict[str, Assessment] = field(default_factory=dict)
    references: dict[str, Reference] = field(default_factory=dict)
    extension_points: dict[str, ExtensionPoint] = field(default_factory=dict)
    capabilities: dict[Capability, CapabilityNeed] = field(default_factory=dict)
    contracts: dict[str, Contract] = field(default_factory=dict)
    provenance: dict[Provenance, None] = field(default_factory=dict)
    left_out: LeftOut = field(default_factory=LeftOut)
    seen: dict[str, str] = field(default_factory=dict)
    conditions: list[tuple[Condition, str, StepFindings]] = field(default_factory=list)
    variables: list[tuple[tuple[str, ...], str, StepFindings]] = field(default_factory=list)
    # The loops that an artifact decides, by which name it speaks of each, and where that stands.
    decided: list[tuple[str, str, str, StepScope]] = field(default_factory=list)
    # The variables that texts show, and where.
    shown: list[tuple[str, str, StepFindings]] = field(default_factory=list)
    used_assessments: set[str] = field(default_factory=set)
    # The lists that something refers to by a name which nothing there has: one of them is meant, so none is unused.
    unresolved: set[str] = field(default_factory=set)
    used_functions: dict[int, Function] = field(default_factory=dict)
    used_features: set[str] = field(default_factory=set)
    routines: dict[str, dict[str, Any] | None] = field(default_factory=dict)
    routine_digests: dict[str, str] = field(default_factory=dict)
    items: int = 0
    rules: int = 0
    chars: int = 0

    def came_from(self, at: str, kind: ProvenanceKind, source: str, digest: str = "") -> None:
        self.provenance[Provenance(at=at, kind=kind, source=source, digest=digest)] = None

    def condition(self, scope: StepScope, value: Any, path: str) -> Condition | None:
        """A condition in the mode of the document; its variables are remembered for the checks at the end."""
        condition, problems = parse_steps_condition(value, path=path, mode=scope.mode)
        scope.findings.take(problems)
        if condition is not None and all(problem.severity is not Severity.ERROR for problem in problems):
            self.conditions.append((condition, path, scope.findings))
        return condition

    def contract(self, scope: StepScope, reference: str, path: str) -> Contract | None:
        """The contract behind a reference, which from now on is part of the program."""
        contract = BUILT_IN.get(reference) or self.library.contracts.get(reference)
        if contract is None:
            known = {*BUILT_IN, *self.library.contracts}
            self.unresolved.add("contracts")
            message = f"There is no contract {shown(reference)}."
            scope.findings.unknown(ProblemCode.UNKNOWN_CONTRACT, path, message, word=reference, known=known)
            return None
        self.contracts[reference] = contract
        return contract

    def claim(self, scope: StepScope, step_id: str, path: str) -> str:
        """The id of an item in the program; one that another place has already is an error."""
        full = f"{scope.prefix}{step_id}"
        place = f"{scope.prefix}{path}"
        if self.seen.setdefault(full, place) != place:
            message = f"The step id {shown(full)} stands twice; each step needs its own."
            scope.findings.error(ProblemCode.DUPLICATE_ID, f"{path}.id", message)
        if scope.template is not None:
            self.came_from(full, scope.template.kind, scope.template.source, scope.template.digest)
        return full

    def grow(self, chars: int, path: str, *, items: int = 1) -> None:
        """Count so many characters of text; past the bounds `is_full` is true and nothing more is built."""
        fits = not self.is_full
        self.items += items
        self.chars += chars
        if fits and self.is_full:
            message = (
                f"With all that it repeats, this is more than {MAX_ITEMS} steps or {MAX_PROGRAM_CHARS} characters."
            )
            self.findings.error(ProblemCode.TOO_LARGE, path, message, "Split the workflow.")

    def count_rule(self, path: str) -> bool:
        """Count one more rule for notes; False past the bound, because patterns and schemas are slow to check."""
        self.rules += 1
        if self.rules == MAX_RULES + 1:
            self.findings.error(ProblemCode.TOO_LARGE, path, f"The workflow has more than {MAX_RULES} rules for notes.")
        return self.rules <= MAX_RULES

    @property
    def is_full(self) -> bool:
        return self.items > MAX_ITEMS or self.chars > MAX_PROGRAM_CHARS


def both(first: Condition | None, second: Condition | None) -> Condition | None:
    """Holds when both hold; an absent condition holds."""
    if first is None or second is None:
        return first or second
    return AllOf(conditions=(first, second))


def written_chars(value: Any) -> int:
    """The size of a part of a document that more than one place in the program repeats."""
    return len(canonical_bytes(value)) if value else 0
