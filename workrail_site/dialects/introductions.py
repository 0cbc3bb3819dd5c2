"""How each dialect introduces itself to a client. Plain data: a client is greeted before anything else is loaded."""

from collections.abc import Mapping
from dataclasses import dataclass

VERSION = "1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Introduction:
    name: str
    title: str
    instructions: str


_RAIL = """\
Workrail gives you one step of a workflow at a time. Find a workflow with list_workflows, begin with start_workflow, do \
exactly what the step in the reply says, then call continue_workflow with the tokens of that reply and notes on what you \
did. Each reply holds the next call ready made under nextCall. Copy tokens exactly and do not guess later steps. If the \
chat was lost, call continue_workflow with the stateToken alone, or resume_session without any token."""
_NAVIGATION = """\
Begin with get_activities to find what the user wants, or list_workflows for everything that can be run. nav_start begins a \
workflow; every reply tells where the run stands, what is required now, what is optional, and what is blocked and why. Do \
the work of a step before you call nav_action complete_step for it. A checkpoint is a question to your user: show it, wait, \
and pass on what they chose. Copy state exactly from the latest reply; it is opaque. Name it too where you read activities, \
skills and guides of your run: published ones may have changed since."""
_SESSION = """\
Call discover first: it tells how a session goes and which workflows there are. start_session begins one, and next_activity \
hands over one activity at a time, with all its steps and questions. Do the steps, load a step's skill when it names one, and \
answer every pending checkpoint with what your user chose (respond_checkpoint) before you go on. Copy session_token exactly \
from the latest reply, and read its warnings."""
_ORCHESTRATOR = """\
Call discover first: it tells how a session goes. The orchestrator leads: start_session, get_workflow, next_activity, and \
every question to the user. A worker calls get_activity, does its steps, loads a step's skill when it names one, and yields at \
each checkpoint (yield_checkpoint); the orchestrator shows it (present_checkpoint), passes on what the user chose \
(respond_checkpoint), and the worker goes on (resume_checkpoint). Copy session_token exactly from the latest reply, and read \
its warnings."""
_LOOKUP = """\
Find a workflow with workflow_list. Ask workflow_next with completedSteps [] for the first step, do it, and ask again with \
its step.id added to completedSteps, until isComplete is true. Facts that conditions read go into context. workflow_validate \
checks the output of a step. Nothing is remembered between calls."""

INTRODUCTIONS: Mapping[str, Introduction] = {
    "rail": Introduction(name="rail", title="Workrail", instructions=_RAIL),
    "navigation": Introduction(name="navigation", title="Workrail navigation", instructions=_NAVIGATION),
    "session": Introduction(name="session", title="Workrail session", instructions=_SESSION),
    "orchestrator": Introduction(name="orchestrator", title="Workrail orchestrator", instructions=_ORCHESTRATOR),
    "lookup": Introduction(name="lookup", title="Workrail lookup", instructions=_LOOKUP),
}
