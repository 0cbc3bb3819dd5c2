"""What a resume query is read as."""

from uuid import UUID

import pytest
from hypothesis import example, given, strategies as st

from sessions_app.engine.resume import near_branches, repository_key, words_needed
from sessions_app.engine.resume_signals import MAX_WORDS, ResumeQuery, read_signals, spellings
from teams_app.engine.errors import InvalidInputError
from teams_app.engine.ids import Prefix, to_text

RUN = UUID("01a1ee87-3200-70f5-829c-18ac4ef7f992")


def words(text):
    return read_signals(ResumeQuery(text=text)).words


def test_words_that_are_said_of_every_work_are_not_looked_up():
    signals = read_signals(ResumeQuery(text="Please resume my session about the flaky checkout"))

    assert signals.words == ("flaky", "checkout")
    assert signals.low_signal_words == ("please", "resume", "my", "session", "about", "the")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ﬁx the ＬＯＧＩＮ", ("fix", "login")),
        ("Ärger mit der Prüfung", ("ärger", "mit", "der", "prüfung")),
        ("token_refresh and rate-limit", ("token_refresh", "rate-limit")),
        ("--flaky-- __checkout__", ("flaky", "checkout")),
        ("flaky flaky Flaky", ("flaky",)),
        ("", ()),
    ],
)
def test_words_are_read_in_one_form(text, found):
    assert words(text) == found


def test_a_long_query_is_read_up_to_its_first_words():
    assert len(words(" ".join(f"word{number}" for number in range(100)))) == MAX_WORDS


def test_ids_are_found_where_they_stand_in_the_text():
    text = f"go on with {to_text(Prefix.RUN, RUN)} in {to_text(Prefix.SESSION, RUN)}."

    signals = read_signals(ResumeQuery(text=text))

    assert signals.run_ids == {RUN}
    assert signals.session_ids == {RUN}
    assert signals.words == ()


@pytest.mark.parametrize("given", [{"run_id": "run_nonsense"}, {"session_id": "42"}])
def test_an_id_that_is_none_is_refused(given):
    with pytest.raises(InvalidInputError):
        read_signals(ResumeQuery(**given))


def test_a_ticket_is_looked_up_in_the_cases_in_which_trackers_print_it():
    assert read_signals(ResumeQuery(text="carry on with Auth-17")).tickets == {"Auth-17", "AUTH-17", "auth-17"}


@pytest.mark.parametrize(
    ("text", "ticket"),
    [
        ("KÜST-42", "KÜST-42"),
        ("go on with küst-42, please", "KÜST-42"),
        ("#77", "#77"),
        ("fixes #77.", "77"),
        ("acme/boats#77", "acme/boats#77"),
        ("PROJ_12", "PROJ_12"),
        ("ZD 12345", "ZD 12345"),
        ("12345", "12345"),
        ("go on with DATA_2024-118", "DATA_2024-118"),
        ("where is rel-2026.47?", "REL-2026.47"),
        ("SHOP-17-2026", "SHOP-17"),
        ("https://tracker.example.org/browse/SHOP-17", "SHOP-17"),
        ("see <https://tracker.example.org/browse/SHOP-17?focus=9#note>, please", "SHOP-17"),
        ("https://git.example.org/acme/boats/issues/77", "#77"),
        ("https://git.example.org/acme/boats/-/merge_requests/77/", "77"),
    ],
)
def test_tickets_of_other_trackers_are_looked_up_as_well(text, ticket):
    assert ticket in read_signals(ResumeQuery(text=text)).tickets


@pytest.mark.parametrize(
    ("given", "ticket"), [("https://tracker.example.org/browse/SHOP-17", "SHOP-17"), ("`#77`", "77")]
)
def test_a_ticket_that_is_given_as_such_is_read_as_one_in_a_text(given, ticket):
    assert ticket in read_signals(ResumeQuery(ticket=given)).tickets


def test_an_id_in_an_address_is_the_id():
    named = f"https://rails.example.org/admin/x/{to_text(Prefix.SESSION, RUN)}/change/"

    assert read_signals(ResumeQuery(text=f"go on with {named}")).session_ids == {RUN}


@pytest.mark.parametrize("given", ["refs/heads/{}", "origin/{}", "refs/remotes/origin/{}", "`{}`"])
def test_a_branch_is_the_same_by_each_of_its_names_in_git(given):
    for branch in ("fix/SHOP-17", "korrektur"):
        assert branch in read_signals(ResumeQuery(git_branch=given.format(branch))).branches
    assert not read_signals(ResumeQuery(git_branch=given.format("main"))).branches


@pytest.mark.parametrize("text", ["step 3 of 12", "at src/app.py:12", "harbour", "a" * 100 + "1"])
def test_what_merely_has_a_number_is_no_ticket(text):
    assert read_signals(ResumeQuery(text=text)).tickets <= {text, text.upper(), text.lower()}


@pytest.mark.parametrize("quoted", ["`{}`", '"{}"', "<{}>", " {}. "])
def test_an_id_that_is_copied_with_its_quotes_is_the_id(quoted):
    text = quoted.format(to_text(Prefix.SESSION, RUN))

    assert read_signals(ResumeQuery(session_id=text)).session_ids == {RUN}


@pytest.mark.parametrize(("word", "is_commit"), [("1a2b3c4", True), ("1234567", False), ("deadbeef", False)])
def test_a_word_is_a_commit_only_with_digits_and_letters(word, is_commit):
    signals = read_signals(ResumeQuery(text=f"at {word}"))

    assert (signals.head_shas == {word}) is is_commit
    assert (word in signals.words) is not is_commit


def test_a_commit_that_is_given_as_such_may_be_of_digits_alone():
    assert read_signals(ResumeQuery(git_head_sha="1234567")).head_shas == {"1234567"}


@pytest.mark.parametrize("branch", ["main", "Master", "develop", "HEAD"])
def test_a_branch_that_everybody_is_on_tells_nothing(branch):
    assert read_signals(ResumeQuery(git_branch=branch)).branches == frozenset()


def test_a_branch_is_found_in_the_text_and_an_address_is_no_branch():
    signals = read_signals(ResumeQuery(text="on feature/auth-refresh, see https://git.example.org/shop/pull/7"))

    assert signals.branches == {"feature/auth-refresh"}
    assert "example" not in " ".join(signals.words)


def test_what_no_column_can_hold_is_not_looked_up():
    signals = read_signals(ResumeQuery(text="flaky\x00 \ud800checkout", git_branch="a\x00b", ticket="T\ud800-1"))

    assert signals.words == ("flaky", "checkout")
    assert signals.branches == frozenset()
    assert signals.tickets == frozenset()


def test_a_branch_was_taken_from_what_stands_before_each_cut():
    assert near_branches("fix/SHOP-1-retry") == ("fix", "fix/SHOP", "fix/SHOP-1")


def test_the_commonest_endings_are_looked_up_with_a_word():
    assert set(spellings("tests")) >= {"test", "tests", "tested", "testing"}
    assert spellings("ci") == ("ci",)
    assert spellings("rate-limit") == ("rate-limit",)


@pytest.mark.parametrize(("count", "needed"), [(0, 1), (1, 1), (2, 1), (3, 2), (5, 2), (6, 3), (10, 4)])
def test_four_tenths_of_the_words_must_be_found(count, needed):
    assert words_needed(count) == needed


@pytest.mark.parametrize(
    "address",
    [
        "https://git.example.org/Shop/storefront",
        "https://git.example.org/shop/storefront.git",
        "git@git.example.org:shop/storefront.git",
        "ssh://git@git.example.org/shop/storefront/",
    ],
)
def test_a_repository_is_the_same_by_each_of_its_addresses(address):
    assert repository_key(address) == "git.example.org/shop/storefront"


@example("", "#")
@given(st.text(max_size=300), st.text(max_size=60))
def test_every_text_can_be_read_and_is_read_alike_twice(text, other):
    query = ResumeQuery(
        text=text, git_branch=other, ticket=other, git_head_sha=other, repository=other, workflow_id=other
    )

    signals = read_signals(query)

    assert signals == read_signals(query)
    for word in (*signals.words, *signals.branches, *signals.tickets):
        assert word
        assert "\x00" not in word
