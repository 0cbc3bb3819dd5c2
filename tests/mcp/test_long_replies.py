"""A reply that clients would refuse for its length is cut, and whichever form a model is shown says so."""

import orjson
import pytest

from workrail_site.mcp.answers import MAX_REPLY_BYTES, ToolReply, result_of

TOKENS = {"stateToken": "st.v1.abc", "ackToken": "ack.v1.abc"}
LONG = "x" * (MAX_REPLY_BYTES + 1)


@pytest.mark.parametrize(
    ("text", "value", "forms"),
    [
        (LONG + " ack.v1.abc", TOKENS, ["text"]),
        ("ack.v1.abc", {**TOKENS, "steps": [LONG]}, ["structuredContent"]),
        (LONG + " ack.v1.abc", {**TOKENS, "steps": [LONG]}, ["text", "structuredContent"]),
    ],
)
def test_a_cut_reply_says_so_in_both_forms_and_keeps_its_tokens_in_both(text, value, forms):
    result = result_of(ToolReply(text=text, value=value), text_only=False)
    said, json = result["content"][0]["text"], result["structuredContent"]

    assert json["_truncated"]["forms"] == forms
    assert json.items() >= TOKENS.items()
    assert "[TRUNCATED: " in said
    assert "ack.v1.abc" in said
    assert len(orjson.dumps(json)) <= MAX_REPLY_BYTES + 1_000
    assert len(said.encode()) <= MAX_REPLY_BYTES + 200


def test_a_reply_that_fits_says_nothing_of_it():
    result = result_of(ToolReply(text="ack.v1.abc", value=TOKENS), text_only=False)

    assert result["structuredContent"] == TOKENS
    assert result["content"][0]["text"] == "ack.v1.abc"


def test_who_asks_for_text_alone_is_told_there():
    result = result_of(ToolReply(text=LONG, value=TOKENS), text_only=True)

    assert "structuredContent" not in result
    assert "[TRUNCATED: " in result["content"][0]["text"]
