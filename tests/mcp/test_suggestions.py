"""What a refusal suggests names only tools that the dialect has."""

import re

import pytest

from sessions_app.engine.handover_refusals import CheckpointOpenError
from sessions_app.engine.tokens import TokenUnknownNodeError
from workrail_site.dialects.suggestions import in_words_of
from workrail_site.mcp.toolsets import all_servers

DIALECTS = ("rail", "navigation", "session", "orchestrator")
LOST = ("TOKEN_UNKNOWN_NODE", "TOKEN_BAD_SIGNATURE", "TOKEN_INVALID_FORMAT")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("code", LOST)
def test_a_lost_token_is_found_again_by_a_tool_that_there_is(dialect, code):
    refusal = TokenUnknownNodeError("No step stands behind it.", suggestion="Copy it once more.")
    refusal.code = code

    told = in_words_of(dialect, refusal).suggestion

    every = {tool.name for server in all_servers().values() for tool in server.tools()}
    own = {tool.name for tool in all_servers()[dialect].tools()}
    named = {word for word in re.findall(r"[a-z]+_[a-z_]+", told) if word in every}
    assert named
    assert named <= own


@pytest.mark.parametrize(
    ("dialect", "tools"), [("session", {"next_activity"}), ("orchestrator", {"next_activity", "yield_checkpoint"})]
)
def test_who_lacks_the_word_of_a_person_is_told_by_which_call_they_get_to_know(dialect, tools):
    told = in_words_of(dialect, CheckpointOpenError.to_approve(["ship"])).suggestion

    own = {tool.name for tool in all_servers()[dialect].tools()}
    assert {word for word in re.findall(r"[a-z]+_[a-z_]+", told) if word in own} == tools
