import json

from workrail_site.local.outcome import CommandOutcome, read_outcome
from workrail_site.local.screen import first_screen, later_screen, secrets_only

_FIRST = CommandOutcome(
    created=True, team="First team", username="owner", password="pass-word", key="wr_key_abc", studio_path="/studio/"
)
_LATER = CommandOutcome(created=False, team="First team", username="owner", studio_path="/studio/")
_URL = "http://127.0.0.1:8000"


def test_the_first_screen_says_where_to_go_and_what_to_keep():
    screen = first_screen(_FIRST, url=_URL)

    for text in ("http://127.0.0.1:8000/studio/", "owner", "pass-word", "wr_key_abc", "Ctrl-C"):
        assert text in screen


def test_the_client_configuration_can_be_pasted():
    screen = first_screen(_FIRST, url=_URL)

    configuration = json.loads(screen[screen.index("{") : screen.rindex("}") + 1])
    assert configuration["mcpServers"]["workrail"] == {
        "url": "http://127.0.0.1:8000/mcp/rail",
        "headers": {"Authorization": "Bearer wr_key_abc", "Workrail-Reply": "text"},
    }
    assert (
        "claude mcp add --transport http workrail http://127.0.0.1:8000/mcp/rail "
        '--header "Authorization: Bearer wr_key_abc" --header "Workrail-Reply: text"'
    ) in screen


def test_a_later_screen_has_no_secret_to_show():
    screen = later_screen(_LATER, url=_URL)

    assert "Password" not in screen
    assert "wr_key_" not in screen
    assert "./workrail members reset owner" in screen


def test_secrets_of_a_first_run_that_failed_are_not_lost():
    text = secrets_only(_FIRST)

    assert "pass-word" in text
    assert "wr_key_abc" in text


def test_the_outcome_travels_in_one_line_and_other_lines_are_none():
    line = _FIRST.as_line()

    assert "\n" not in line
    assert read_outcome(line) == _FIRST
    assert read_outcome("  Applying teams_app.0001… OK") is None
