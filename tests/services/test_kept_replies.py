"""Replies as their rows keep them: they come back byte for byte, and what was kept once is read for ever."""

import pytest
from hypothesis import given, strategies as st

from sessions_app.selectors.standings import KeptReplyError, keep_reply, kept_reply

REPLY = b'{"kind":"ok","stateToken":"st.v1.01m7q8msapfhya3hnyhbxr8z20p5xpqga1njq4ra1t","warnings":[]}'
# As the first release that deflates has kept it: whoever changes the words makes another form.
KEPT = bytes.fromhex(
    "0123261b98175ae4162716a46554261a67e45566245514595419191498561414a6271ae665159a14251a82ec42f64a2d00"
)


@given(st.binary(max_size=2000))
def test_what_is_kept_comes_back_byte_for_byte(reply):
    assert kept_reply(keep_reply(reply)) == reply


def test_a_reply_of_a_release_before_is_as_it_is():
    assert kept_reply(REPLY) == REPLY


def test_a_reply_that_was_kept_once_is_read_for_ever():
    assert kept_reply(KEPT) == REPLY


@pytest.mark.parametrize(
    "stored", [b"", b"x", keep_reply(REPLY)[:-1], keep_reply(REPLY) + b"x", b"\x02" + keep_reply(REPLY)[1:]]
)
def test_what_holds_no_reply_is_refused(stored):
    with pytest.raises(KeptReplyError):
        kept_reply(stored)
