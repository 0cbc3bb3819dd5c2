"""Roles, scopes and what the audit log says, in the words that people read."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from teams_app.engine.actors import BY_TOKEN, ActorKind, Door, Role, Scope, TokenScope
from teams_app.engine.counting import counted
from teams_app.engine.ids import Prefix, from_text
from teams_app.engine.webhooks import NoticeKind
from teams_app.models import AuditEntry

ROLES = {
    Role.VIEWER: ("Viewer", "sees runs, workflows, traces, members and keys"),
    Role.OPERATOR: ("Operator", "as a viewer; answers questions, cancels and steers runs"),
    Role.AUTHOR: ("Author", "as an operator; writes and publishes workflows"),
    Role.OWNER: ("Owner", "as an author; manages members and keys, reads the audit log"),
}
SCOPES = {
    Scope.WORKFLOWS_READ: ("read workflows", "see what there is to run"),
    Scope.RUNS_READ: ("read runs", "find earlier work again"),
    Scope.RUNS_WRITE: ("drive runs", "start, continue, record"),
    Scope.WORKFLOWS_WRITE: ("write workflows", "save drafts, never publish"),
    Scope.TRACES_READ: ("read traces", "see which calls were made"),
    Scope.TEAM_READ: ("read the team", "see members and keys, never secrets"),
}
TOKEN_SCOPES = {
    TokenScope.ANSWER: ("answer", "questions of runs; pause, cancel and steer them"),
    TokenScope.PUBLISH: ("publish", "write and publish workflows"),
    TokenScope.MANAGE: ("manage", "members' roles, keys, notices and settings; read the audit log"),
}
NOTICES = {
    NoticeKind.CHECKPOINT_ASKED: "a question waits for a person",
    NoticeKind.CHECKPOINT_OVERDUE: "a question is overdue",
    NoticeKind.CHECKPOINT_ANSWERED: "a question was answered",
    NoticeKind.RUN_STARTED: "a run has begun",
    NoticeKind.RUN_WAITING: "a run waits for a person",
    NoticeKind.RUN_BLOCKED: "a run is blocked",
    NoticeKind.RUN_PAUSED: "a run is paused",
    NoticeKind.RUN_COMPLETED: "a run is done",
    NoticeKind.RUN_REJECTED: "a run was rejected",
    NoticeKind.RUN_CANCELLED: "a run was cancelled",
    NoticeKind.SESSION_EXPIRING: "a session will be deleted in a week",
    NoticeKind.ENDPOINT_SWITCHED_OFF: "an address of notices is not called any more",
}
DOORS = {
    Door.REST: "REST",
    Door.MCP: "MCP",
    Door.STUDIO: "Studio",
    Door.CLI: "Command line",
    Door.TASK: "By itself",
}
_CAMEL = re.compile("(?<=[a-z])(?=[A-Z])")
_NAME = re.compile("[a-z]+(?:_[a-z]+)+")
# Verb, and what is said after the name.
_SENTENCES: dict[str, tuple[str, str]] = {
    "team.created": ("Founded the team", ""),
    "team.ended": ("Ended the team", ""),
    "team.emptied": ("Deleted what the team had", "sessions: {sessions}"),
    "team.renamed": ("Renamed the team to", "before: {from}"),
    "member.invited": ("Invited", "as {role}"),
    "member.joined": ("Joined the team:", "as {role}, invited by {invited_by}"),
    "member.role_changed": ("Changed the role of", "to {to}, before: {from}"),
    "member.removed": ("Took out of the team:", "who was {role}"),
    "invitation.withdrawn": ("Withdrew the invitation of", ""),
    "password.reset_offered": ("Made a link for a new password of", ""),
    "password.reset": ("Set a new password with a link:", ""),
    "password.changed": ("Changed their password:", ""),
    "person.signed_in": ("Signed in:", "from {address}"),
    "person.signed_out": ("Signed out:", "from {address}"),
    "person.linked": ("Linked their account:", "to {issuer}"),
    "person.unlinked": ("Unlinked, with the old password, what was linked to the account of", ""),
    "person.sign_in_refused": ("Refused to sign in somebody as", "from {address}"),
    "team.tokens_allowed": ("Let tokens answer questions for people", ""),
    "team.tokens_disallowed": ("Let tokens answer no more questions for people", ""),
    "token.issued": ("Made the token", "of {of}"),
    "token.revoked": ("Revoked the token", "of {of}"),
    "key.issued": ("Made the key", ""),
    "key.rotated": ("Replaced the key", "which ends within a day"),
    "key.revoked": ("Revoked the key", ""),
    "client.connected": ("Connected the client", "its answer went to {goes_to}"),
    "client.disconnected": ("Disconnected itself:", ""),
    "key.expired": ("The key ended:", ""),
    "mails.chosen": ("Chose which notices they get by e-mail", ""),
    "webhook.set": ("Set where notices go:", ""),
    "webhook.changed": ("Changed which notices go to", ""),
    "webhook.removed": ("Sends no more notices to", ""),
    "webhook.switched_on": ("Sends notices again to", ""),
    "webhook.switched_off": ("Stopped sending notices to", ""),
    "workflow.created": ("Wrote the workflow", ""),
    "workflow.revised": ("Saved the workflow", "as r{revision}"),
    "workflow.published": ("Published", "r{revision}"),
    "workflow.retired": ("Retired", "r{revision}"),
    "node.handed_out": ("Handed out a step of a run to an agent", ""),
    "checkpoint.claimed": ("Claimed", ""),
    "checkpoint.released": ("Released", ""),
    "checkpoint.answered": ("Answered", ""),
    "preferences.changed": ("Changed how far runs go by themselves", ""),
    "alias.set": ("Gave another name to a workflow:", ""),
    "alias.removed": ("Took away the name", ""),
    "binding.set": ("Put a routine into the slot", ""),
    "binding.removed": ("Gave back the slot", ""),
    "contract.registered": ("Registered the contract", ""),
    "contract.removed": ("Removed the contract", ""),
    "session.imported": ("Imported the session", ""),
    "session.renamed": ("Renamed a session to", ""),
    "session.held": ("Held from expiry:", "“{reason}”"),
    "session.let_go": ("Holds no more:", ""),
    "session.deleted": ("Deleted for good:", "“{reason}”"),
    "session.expired": ("Deleted after its time:", ""),
    "step.approved": ("Approved with their own acknowledgement", ""),
    "run.paused": ("Paused", ""),
    "run.resumed": ("Let go on", ""),
    "run.cancelled": ("Cancelled", ""),
    "run.rejected": ("Rejected, and so ended,", ""),
    "run.branch_preferred": ("Preferred a branch of", ""),
    "run.renamed": ("Renamed a run to", ""),
    "retention.set": ("Set how long sessions are kept", ""),
    "retention.removed": ("Removed a rule of how long sessions are kept", ""),
    "view.shared": ("Shared a view of a list with the team:", ""),
    "view.forgotten": ("Took a view of a list away from the team:", ""),
}
_PAGES = {
    Prefix.MEMBERSHIP: "teams_app_membership",
    Prefix.KEY: "teams_app_agentkey",
    Prefix.TOKEN: "teams_app_personaltoken",
    Prefix.WORKFLOW: "workflows_app_workflow",
    Prefix.CHECKPOINT: "sessions_app_checkpointrequest",
    Prefix.SESSION: "sessions_app_worksession",
    Prefix.RUN: "sessions_app_run",
}
_ANSWERS = {"approve": "Approved", "send_back": "Sent back", "reject": "Rejected"}
_KINDS = {Prefix.CHECKPOINT: "a question", Prefix.SESSION: "a session", Prefix.RUN: "a run"}
_NAMES = ("username", "name", "workflowId", "host", "alias", "slot", "contract", "title", "to")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """`verb name after`, the name with a link where there is a page."""

    verb: str
    name: str
    url: str
    after: str


def hinted(name: str, hint: str) -> SafeString:
    """A choice of a form: what it is, and below it what that means."""
    return format_html('<span>{}</span> <span class="hint">{}</span>', name, hint)


def scopes_in_words(scopes: list[str]) -> str:
    """What is done with the same thing stands together: “read and drive runs”."""
    verbs: dict[str, list[str]] = {}
    for scope in SCOPES:
        if scope.value in scopes:
            verb, _, thing = SCOPES[scope][0].partition(" ")
            verbs.setdefault(thing, []).append(verb)
    return ", ".join(f"{' and '.join(found)} {thing}" for thing, found in verbs.items())


def token_scopes_in_words(scopes: list[str]) -> str:
    """Every token reads."""
    return ", ".join(["read", *(TOKEN_SCOPES[TokenScope(scope)][0] for scope in TOKEN_SCOPES if scope.value in scopes)])


def token_of(row: AuditEntry) -> str:
    """The name of the token by which the person acted; empty where they had signed in."""
    return str(row.details.get("by_name", "")) if row.details.get("by") == BY_TOKEN else ""


def sentence_of(row: AuditEntry, called: str = "") -> Sentence:
    """`called` is what the target is called, where only another app knows it."""
    verb, after = _SENTENCES.get(row.action, (row.action.replace(".", " ").replace("_", " ").capitalize(), ""))
    details = {key: value for key, value in row.details.items() if isinstance(value, str | int)}
    verb = _ANSWERS.get(str(details.get("option", "")), verb) if row.action == "checkpoint.answered" else verb
    prefix, row_id = _target(row.target)
    said = next((str(details[key]) for key in _NAMES if key in details), "")
    name = said or called or (_KINDS.get(prefix, "") if prefix else "")
    if verb.endswith(":") and name == row.actor_name:
        # Who did it to themselves stands before the sentence already.
        verb, name = verb[:-1], ""
    return Sentence(verb=verb, name=name, url=_url(prefix, row_id), after=_filled(after, details))


def details_of(row: AuditEntry) -> list[tuple[str, str]]:
    shown = [(_CAMEL.sub(" ", key).replace("_", " ").lower(), _value(value)) for key, value in row.details.items()]
    return [(key.removesuffix(" id").capitalize(), value) for key, value in shown]


def is_agent(row: AuditEntry) -> bool:
    return row.actor_kind != ActorKind.PERSON.value


def count_in_words(number: int) -> str:
    return counted(number, "entry")


def _target(text: str) -> tuple[Prefix | None, UUID | None]:
    head = text.partition("_")[0]
    prefix = next((each for each in _PAGES if each.value == head), None)
    return (prefix, from_text(prefix, text)) if prefix else (None, None)


def _url(prefix: Prefix | None, row_id: UUID | None) -> str:
    if prefix is None or row_id is None:
        return ""
    return reverse(f"admin:{_PAGES[prefix]}_change", args=(row_id,))


def _filled(text: str, details: Mapping[str, Any]) -> str:
    """Without what an older entry does not say."""
    try:
        return text.format(**details)
    except (KeyError, IndexError):
        return ""


def _value(value: Any) -> str:
    """Names of closed sets are words; ids, and what people wrote, stay as they are."""
    if value is None or isinstance(value, bool):
        return "none" if value is None else "yes" if value else "no"
    if isinstance(value, str) and _NAME.fullmatch(value) and value.partition("_")[0] not in {*Prefix, "wr"}:
        return value.replace("_", " ")
    if isinstance(value, list):
        return ", ".join(_value(each) for each in value)
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_value(each)}" for key, each in value.items())
    return str(value)
