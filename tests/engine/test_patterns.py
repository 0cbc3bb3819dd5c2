import time

import pytest

from workflows_app.engine.patterns import MAX_PATTERN_CHARS, MAX_TEXT_CHARS, BadPatternError, compile_pattern


def found(pattern, text, flags=""):
    return compile_pattern(pattern, flags=flags).search(text)


@pytest.mark.parametrize(
    ("pattern", "flags", "text", "expected"),
    [
        ("b", "", "abc", True),
        ("^b", "", "abc", False),
        ("B", "i", "abc", True),
        ("(?i)##?\\s*Title:?", "", "# title", True),
        ("^b$", "m", "a\nb\nc", True),
        ("a.c", "", "a\nc", False),
        ("a.c", "s", "a\nc", True),
        ("b", "g", "ab", True),
        ("b", "y", "ab", False),
        ("a", "y", "ab", True),
        ("\\u0041\\x42", "", "AB", True),
        ("\\u{1F600}", "u", "😀", True),
        ("\\ud83d\\ude00", "", "😀", True),
        ("^.$", "s", "😀", True),
        ("\\s", "", "\u00a0", True),
        ("\\s", "", "\x0b", True),
        ("[\\S]", "", "\ufeff", False),
        ("[^\\s]", "", "\u2028", False),
        ("[\\w-.]+@", "", "a-b.c@", True),
        ("[[]", "", "[", True),
        ("[^]", "", "\n", True),
        ("[]", "", "anything", False),
        ("[\\b]", "", "\x08", True),
        ("\\cJ", "", "\n", True),
        ("{{name}}", "", "{{name}}", True),
        ("(?<year>\\d{4})", "", "in 2026", True),
        ("\\p{Script=Greek}", "u", "Ω", True),
        ("\\Adone\\Z", "", "done", True),
        ("a$", "m", "a\r\nb", True),
        ("a.b", "", "a\u2028b", False),
        ("a\\r\\nb", "", "a\r\nb", True),
        ("\\/login", "", "/login", True),
        ("\\_", "", "_", True),
    ],
)
def test_a_pattern_means_what_it_means_in_javascript(pattern, flags, text, expected):
    assert found(pattern, text, flags) is expected


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("^(?!.*TODO)", "a TODO", False),
        ("^(?!.*TODO)", "no more", True),
        ("^(?!.*TODO)", "first line\nTODO", True),
        ("^(?=.*red)(?=.*tests).+$", "tests are red", True),
        ("^(?=.*red)(?=.*tests).+$", "tests are green", False),
        ("^(?!draft|wip)\\w+$", "draft1", False),
        ("^(?!draft|wip)\\w+$", "final", True),
        ("(?i)^(?!.*todo)", "TODO", False),
    ],
)
def test_look_aheads_at_an_anchored_start_are_run(pattern, text, expected):
    assert found(pattern, text) is expected


def test_a_lone_look_ahead_without_an_anchor_holds_everywhere_as_it_does_in_javascript():
    assert found("(?!.*TODO)", "TODO")


@pytest.mark.parametrize(
    ("pattern", "flags"),
    [
        ("(a)\\1", ""),
        ("(?<x>a)\\k<x>", ""),
        ("a(?=b)", ""),
        ("a(?!b)", ""),
        ("(?=.*a)b", ""),
        ("(?!a|b)", ""),
        ("(?!.*)", ""),
        ("^(?!a)b|c", ""),
        ("^(?!a)b", "m"),
        ("^(?=a)*", ""),
        ("(?<=a)b", ""),
        ("(?<!a)b", ""),
        ("(?>a)", ""),
        ("(?#note)", ""),
        ("(", ""),
        (")", ""),
        ("^(?!", ""),
        ("[a", ""),
        ("[z-a]", ""),
        ("*", ""),
        ("a**", ""),
        ("a{1001}", ""),
        ("(a{100}){100}", ""),
        ("(\\p{L}{30}){30}", ""),
        ("\\", ""),
        ("\\p{Nonsense}", ""),
        ("\\ud800", ""),
        ("\ud800", ""),
        ("\\u{110000}", "u"),
        ("a", "ii"),
        ("a", "x"),
        ("a" * (MAX_PATTERN_CHARS + 1), ""),
    ],
)
def test_what_cannot_run_is_refused_with_words(pattern, flags):
    with pytest.raises(BadPatternError) as refused:
        compile_pattern(pattern, flags=flags)

    assert refused.value.message.endswith(".")


def test_a_refusal_says_what_to_write_instead():
    with pytest.raises(BadPatternError) as refused:
        compile_pattern("a(?=b)")

    assert "several rules" in refused.value.suggestion


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(.*)(.*)(.*)(.*)(.*)x$", "([ab]{0,20}a[ab]{0,20}){8}c"])
def test_no_pattern_can_hang(pattern):
    text = "a" * (MAX_TEXT_CHARS - 1) + "!"
    started = time.perf_counter()

    assert not found(pattern, text)

    assert time.perf_counter() - started < 2


def test_only_the_beginning_of_a_long_text_is_looked_at():
    assert not found("end", "x" * MAX_TEXT_CHARS + "end")


def test_a_text_with_half_a_character_is_searched_all_the_same():
    assert found("after", "\ud800 after")


def test_compiling_again_is_a_cache_hit():
    assert compile_pattern("cached?", flags="i") is compile_pattern("cached?", flags="i")
