"""Everything that one submission says, sorted: what stops, what is told, what is learnt."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sessions_app.engine.reasons import Gap, Reason
from sessions_app.engine.state import CapabilityObservation
from workflows_app.engine.program import Capability, Option

Artifact = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded:
    """One assessment as handed in: level and rationale by dimension, and how the level was matched."""

    assessment: str
    levels: Mapping[str, str]
    rationales: Mapping[str, str]
    normalized: frozenset[str]
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """A consequence that holds: which dimension stands at which level, and what follows."""

    assessment: str
    dimension: str
    level: str
    guidance: str


@dataclass(slots=True, kw_only=True)
class Findings:
    """Filled part by part while one submission is judged."""

    reasons: list[Reason] = field(default_factory=list)
    issues: list[str] = field(default_factory=list)
    suggestions: list[str] = field(default_factory=list)
    graded: list[Graded] = field(default_factory=list)
    applied: list[Applied] = field(default_factory=list)
    capabilities: dict[Capability, CapabilityObservation] = field(default_factory=dict)
    observations: list[Artifact] = field(default_factory=list)
    divergences: list[Artifact] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    followup: str = ""
    # Whether a person has approved a step that asks for it.
    approved: bool = False
    # What was chosen at a checkpoint, and what a run that never stops goes on with when nobody chose.
    answer: Option | None = None
    unanswered: Option | None = None
