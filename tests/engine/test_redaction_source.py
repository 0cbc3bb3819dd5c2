"""The log and the trace hide the same: what is a secret is said in one place."""

import base64
import hashlib
import html
import json
import re
import time
from pathlib import Path
from random import Random
from unicodedata import normalize
from urllib.parse import quote

import pytest

from teams_app.engine.looks import KEYS
from teams_app.engine.own_keys import HIDDEN, OWN_MARKS, own_keys
from teams_app.engine.plain_reading import read_plainly
from teams_app.engine.redaction import (
    _found,
    hide_keys,
    hide_secrets,
    holds_own_key,
    is_secret_name,
    may_hold_keys,
)
from tests.flood_play import Work
from traces_app.engine.redaction import redact_arguments, redact_text
from workrail_site.redaction import Redactor

LOOKS = [
    "wr_key_abcdefghijklmnopqrstuvwxyz234567abcdefgh",
    "st.v1.q8w7e6r5t4y3u2i1o0p9abcdefgh",
    "ack . v1 . q8w7e6r5t4y3u2i1o0p9abcdefgh",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
    "ghp_0123456789abcdef0123",
    "sk-proj-0123456789abcdef",
    "AKIA0123456789ABCDEF",
    "wr_hook_abcdefghijklmnopqrstuvwxyz234567abcdefgh",
    "wr_pat_abcdefghijklmnopqrstuvwxyz234567abcdefgh",
    "wr_link_abcdefghijklmnopqrstuvwxyz234567abcdefgh",
    "x-api-key: hunter2",
    "X_API_KEY=hunter2",
    "aws_secret_access_key = hunter2/abc+def",
    "AccountKey=hunter2==;EndpointSuffix=core",
    "sk-ant-api03-0123456789abcdef-0123",
    "sk_live_0123456789abcdef",
    "glpat-0123456789abcdef0123",
    "xoxb-0123456789-abcdef",
    "xapp-1-A0123456789-abcdef",
    "https://hooks.slack.com/services/T0000/B0000/abcdefgh",
    "AIzaSy0123456789abcdefghijklmnopqrstuvw",
    "npm_0123456789abcdefghijABCDEFGHIJ",
    "hf_0123456789abcdefghijABCDEFGHIJ",
    "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",
    "npm_qWeRtYuIoPaSdFgHjKlZxCvBnMqWeRtYuIoP",
    "ghp_qWeRtYuIoPaSdFgHjKlZxCvBnMqWeRtYuIoP",
    "SG.0123456789abcdefghij.0123456789abcdefghijABCDEFGHIJ",
    "dop_v1_" + "0123456789abcdef" * 4,
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n-----END OPENSSH PRIVATE KEY-----",
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\nlQOY\n-----END PGP PRIVATE KEY BLOCK-----",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE",
    "Authorization: Bearer abcdef123456",
    "postgres://me:hunter2@db/x",
    "Cookie: sessionid=hunter2; csrftoken=hunter2",
    "password=hunter2",
    '{"api_key": "hunter2',
]
# By issuer, as each says of its own keys; what follows the beginning is made up.
_LONG = "0123456789abcdefghijABCDEFGHIJ0123456789"
ISSUED = [
    *(f"{begin}{_LONG}" for begin in ("glcbt-", "glimt-", "glsoat-", "glagent-", "glft-", "glffct-", "gloas-")),
    *(f"{begin}{_LONG}" for begin in ("xoxc-", "xoxd-", "xwfp-", "GOCSPX-", "1//0")),
    *(f"https://hooks.slack.com/{kind}/T0000/B0000/abcdefgh" for kind in ("workflows", "triggers")),
    *(f"{begin}0123456789ABCDEF" for begin in ("ABIA", "ACCA")),
    *(
        f"{begin}{_LONG}"
        for begin in ("sess-", "sk_org_live_", "hvs.", "hvb.", "dckr_pat_", "glsa_", "lin_api_", "ntn_")
    ),
    *(f"{begin}{_LONG}" for begin in ("gsk_", "xai-", "r8_", "pplx-", "sbp_", "pscale_tkn_", "rubygems_", "figd_")),
    *(
        f"{begin}{_LONG}"
        for begin in (
            *(
                "nvapi-",
                "tvly-",
                "lsv2_pt_",
                "pcsk_",
                "e2b_",
                "csk-",
                "tgp_v1_",
                "wandb_v1_",
                "phx_",
                "napi_",
                "sb_secret_",
            ),
            *(
                "vcp_",
                "nfp_",
                "cfut_",
                "dor_v1_",
                "doo_v1_",
                "HRKU-",
                "tskey-auth-",
                "bkua_",
                "CCIPAT_",
                "snyk_uat.",
                "ATBB",
            ),
            *("sq0atp-", "CFPAT-", "dt0c01.", "cmVmdGtu", "rdme_", "pnu_", "tfp_", "pat-na1-"),
        )
    ),
    "sk_" + "0123456789abcdef" * 3,
    "0123456789:AA" + _LONG[:33],
    "a1B8Q~" + _LONG[:34],
    "0123456789abcd.atlasv1." + _LONG * 2,
    *(f"{begin}{_LONG}" for begin in ("NRAK-", "PMAK-", "sntrys_", "dp.pt.", "pul-", "ATATT3x", "shpca_", "fm2_")),
]
# The same of keys that tell by more than how they begin.
_HEX = "0123456789abcdef"
_BASE64 = "aB3dE5+gH/jK" * 8
_UUID = "01234567-89ab-cdef-0123-456789abcdef"
MADE = [
    *(
        f"{begin}{_LONG}"
        for begin in ("GR1348941", "ATCTT3x", "ATSTT3x", "hvr.", "dckr_oat_", "lin_oauth_", "pscale_oauth_")
    ),
    *(
        f"{begin}{_LONG}"
        for begin in ("vercel_blob_rw_", "fo1_", "dp.ct.", "dp.sa.", "dp.scim.", "xkeysib-", "fio-u-", "cflt")
    ),
    *(
        f"{begin}{_LONG}"
        for begin in ("apify_api_", "essu_", "NRII-", "dt0s16.", "CLOJARS_", "crsr_", "mdb_sa_sk_", "sgp_")
    ),
    *(
        f"{begin}{_LONG}"
        for begin in ("secret-live-", "duffel_live_", "shippo_live_", "FLWSECK-", "rzp_live_", "bkct_")
    ),
    *(
        f"{begin}{_LONG}"
        for begin in ("jina_", "rnd_", "rpa_", "fw_", "esecret_", "squ_", "sqp_", "hcaik_", "jsr_", "AKCp", "EZAK")
    ),
    *(f"{begin}{_LONG}" for begin in ("secret_", "api_org_", "bedrock-api-key-", "AQ.Ab8", "sha256~abc")),
    *(f"{begin}{_UUID}" for begin in ("sdk-", "ctx7sk-", "sk-lf-", "amzn.mws.", "access-sandbox-", "pat-na2-")),
    *(f"access_token${kind}${_HEX}${_HEX * 2}" for kind in ("production", "sandbox")),
    "ABSK" + _BASE64,
    "dose" + _HEX * 2,
    "dapi" + _HEX * 2 + "-2",
    "glpat-" + _LONG[:20] + ".01.0123456ab",
    "re_" + _LONG[:8] + "_" + _LONG[:24],
    "pa-" + _LONG + "abc",
    *(f"{begin}-{_HEX * 2}" for begin in ("key", "fc")),
    "key_" + _HEX * 4,
    "SK" + _HEX * 2,
    "pat" + _LONG[:14] + "." + _HEX * 4,
    "pk_01234567_" + _LONG[:32],
    "1/0123456789012345:" + _HEX * 2,
    _HEX * 2 + "-us12",
    "sl." + _LONG * 3,
    "M" + _LONG[:24] + "." + _LONG[:6] + "." + _LONG[:30],
    "LTAI" + _LONG[:20],
    "oy2" + (_HEX * 3)[:43],
    "EAA" + _LONG * 2,
    *(_LONG + "abcd" * 3 + sign + "0aB1==" for sign in ("AzFu", "ACDb", "APIm")),
    _LONG[:36] + "+ASt" + "0aB1c2==",
    f"https://discord.com/api/webhooks/0123456789012345/{_LONG}",
    f"https://hooks.zapier.com/hooks/catch/0123456/{_LONG[:8]}",
    f"https://x.webhook.office.com/webhookb2/{_UUID}@{_UUID}/IncomingWebhook/{_HEX * 2}/{_UUID}",
]
# By an issuer that nobody here has heard of.
UNHEARD = [f"newcomer_{_LONG}", f"newcomer_live_{_LONG}", f"new_{_LONG}{_LONG}"]
# What is around tells that a value which a machine made is one, and stays itself.
NEXT_TO = [
    ("aws_secret_access_key = ", _BASE64[:40]),
    ("AccountKey=", _BASE64[:86] + "=="),
    ("client_secret: '", _LONG),
    ('"private_key": "', _LONG),
    ("registry.example.com/:_authToken=", _UUID),
    ("DD_API_KEY=", _HEX * 2),
    ("Authorization: Splunk ", _UUID),
    ("authorization: bearer ", _LONG),
    ('"auth": "', _BASE64[:40]),
    ("postgres://me:", _LONG + "@db/x"),
    ("redis://:", "0123456abc@db/0"),
    ("https://", _HEX * 2 + "@example.com/x"),
    ("https://", _LONG + ":x-oauth-basic@example.com/x"),
    ("machine example.com login me password ", "hunter2"),
    ("https://x.example.com/c?sv=1&sig=", _LONG + "%3D"),
    ("https://x.example.com/c?X-Amz-Signature=", _HEX * 4),
]
# Where one text is inside of another, as in JSON that is quoted, in an address, in a name.
BEFORE = ["", " ", "\\n", "\\t", "token%3D", "%22", "TOKEN_", "=", '"']
NAMES = ["stateToken", "checkpoint_handle", "API-Key", "sshKey", "Set-Cookie", "pwd", "jwt", "new_passphrase"]
INNOCENT = ["event", "session", "session_id", "token_count", "monkey", "author", "spin", "path"]


@pytest.mark.parametrize("text", LOOKS)
def test_a_secret_looks_the_same_in_the_log_and_in_the_trace(text):
    hidden = hide_secrets(text)

    assert HIDDEN in hidden
    assert Redactor()(None, "info", {"event": text}) == {"event": hidden}
    assert redact_text(text=text, max_characters=200) == hidden


@pytest.mark.parametrize(
    "key", [*ISSUED, *MADE, "ghp_0123456789abcdef0123", "sk-proj-0123456789abcdef", "AKIA0123456789ABCDEF"]
)
def test_a_key_of_any_issuer_is_found_wherever_it_stands(key):
    for before in BEFORE:
        hidden = hide_keys(f"Seen: {before}{key}")

        assert HIDDEN in hidden, before
        assert key[-8:] not in hidden, before


@pytest.mark.parametrize("key", UNHEARD)
@pytest.mark.parametrize("before", ["", " ", "=", '"', "%22", "Bearer "])
def test_a_key_of_an_issuer_unheard_of_is_found(before, key):
    assert hide_keys(f"Seen: {before}{key} there") == f"Seen: {before}{HIDDEN} there"


@pytest.mark.parametrize(("before", "value"), NEXT_TO)
def test_a_value_that_was_made_is_found_by_the_word_before_it(before, value):
    hidden = hide_keys(f"Seen: {before}{value} there")

    assert hidden.startswith(f"Seen: {before}{HIDDEN}")
    assert value[:7] not in hidden


def _letters(form, key):
    return "".join(form.format(ord(letter)) for letter in key)


SPELLINGS = {
    "with what is not seen": "\u200b".join,
    "with marks of direction": lambda key: f"{key[:3]}\u202e{key[3:9]}\u2060{key[9:]}",
    "broken softly": lambda key: f"{key[:3]}\u00ad{key[3:9]}\ufeff{key[9:]}",
    "in wide letters": lambda key: "".join(chr(ord(each) + 0xFEE0) if each not in ":/+=~@$" else each for each in key),
    "in an address": lambda key: quote(key.replace("_", "%5F"), safe=""),
    "in an address, letter by letter": lambda key: _letters("%{:02x}", key),
    "in JSON": lambda key: _letters("\\u{:04x}", key),
    "in JSON in JSON": lambda key: key.replace("_", "\\\\u005f").replace("-", "\\\\u002d").replace(".", "\\\\u002e"),
    "in JavaScript": lambda key: _letters("\\x{:02X}", key),
    "in markup": lambda key: _letters("&#{};", key),
    "in JavaScript, in octal": lambda key: _letters("\\{:o}", key),
    "in markup without an end": lambda key: _letters("&#{}", key) + ";",
    "in markup, in hex": lambda key: _letters("&#x{:X};", key),
}


@pytest.mark.parametrize("spelt", SPELLINGS)
def test_a_key_is_found_however_it_is_written(spelt):
    own = [prefix + "abcdefgh" * 5 for prefix in own_prefixes()]
    for key in [*own, *ISSUED, *MADE, "ghp_0123456789abcdef0123", "AKIA0123456789ABCDEF"]:
        written = SPELLINGS[spelt](key)

        assert HIDDEN in hide_keys(f"é Seen: {written} there"), key
        assert written[-20:] not in hide_keys(f"é Seen: {written} there"), key
        assert hide_keys(f"é Seen: {written} there").endswith(" there"), key
    assert all(holds_own_key(f"Use {SPELLINGS[spelt](key)}.") for key in own)


@pytest.mark.parametrize("before", ["", "u:", "me:", "user:"])
def test_a_key_of_ours_is_found_in_what_is_encoded_in_base64(before):
    for prefix in own_prefixes():
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            encoded = encode(f"{before}{prefix}{'abcdefgh' * 5}".encode()).decode()

            assert holds_own_key(f"Basic {encoded}"), prefix
            assert encoded[-40:] not in hide_keys(f"Basic {encoded}"), prefix


def _in_lines(text, length, end="\n"):
    return end.join(text[at : at + length] for at in range(0, len(text), length))


def _hex_apart(between, data):
    return between.join(f"{octet:02x}" for octet in data)


ENCODED = {
    "base64 in lines of mails": lambda data: base64.encodebytes(data).decode(),
    "base64 in short lines": lambda data: _in_lines(base64.b64encode(data).decode(), 7, "\r\n"),
    "base64 in lines of a quoted text": lambda data: _in_lines(base64.b64encode(data).decode(), 16, "\\n"),
    "base64 in lines of a block": lambda data: _in_lines(base64.urlsafe_b64encode(data).decode(), 20, "\n    "),
    "base64 in lines behind tabs": lambda data: _in_lines(base64.b64encode(data).decode(), 20, "\r\n\t"),
    "base64 in lines of an answer": lambda data: _in_lines(base64.b64encode(data).decode(), 20, "\n> "),
    "hex": bytes.hex,
    "hex in large letters": lambda data: data.hex().upper(),
    "hex of Postgres": lambda data: f"\\x{data.hex()}",
    "hex in lines": lambda data: _in_lines(data.hex(), 60),
    "hex in lines of a quoted text": lambda data: _in_lines(data.hex(), 10, "\\r\\n"),
    "hex byte by byte": lambda data: _hex_apart(" ", data),
    "hex with colons": lambda data: _hex_apart(":", data),
    "hex in source": lambda data: "0x" + _hex_apart(", 0x", data),
}


@pytest.mark.parametrize("letters", ["utf-8", "utf-16-le", "utf-16-be", "utf-16"])
@pytest.mark.parametrize("encoded", ENCODED)
def test_a_key_of_ours_is_found_in_whatever_encodes_it(encoded, letters):
    for prefix in own_prefixes():
        for before in ("", "u", "u:", "me:", "a line\nbefore it "):
            written = ENCODED[encoded](f"{before}{prefix}{'abcd2345' * 5}".encode(letters))
            hidden = hide_keys(f"Seen: {written}. There")

            assert holds_own_key(f"Seen: {written}. There"), (prefix, before)
            assert holds_own_key(json.dumps(f"Seen: {written}. There")), (prefix, before)
            assert HIDDEN in hidden, (prefix, before)
            assert written[-40:] not in hidden, (prefix, before)
            assert hidden.endswith(". There"), (prefix, before)


@pytest.mark.parametrize("letters", ["utf-16-le", "utf-16-be", "utf-16"])
def test_a_key_of_ours_is_found_in_a_file_of_wide_letters(letters):
    for prefix in own_prefixes():
        read = f"Use {prefix}{'abcd2345' * 5}.".encode(letters).decode("utf-8", "replace")
        assert holds_own_key(read), prefix
        assert holds_own_key(json.dumps(read)), prefix


MADE_BYTES = Random(7).randbytes(60_000)


@pytest.mark.parametrize(
    "text",
    [
        hashlib.sha512(MADE_BYTES).hexdigest(),
        MADE_BYTES.hex(),
        _hex_apart(" ", MADE_BYTES),
        base64.b64encode(MADE_BYTES).decode(),
        base64.encodebytes(MADE_BYTES).decode(),
        MADE_BYTES.decode("utf-8", "replace"),
        "w\x00r\x00_\x00" * 100,
        # The beginning alone, and words behind it.
        base64.b64encode(b"wr_key_").decode() + "\nand\nwords\neach\nin\na\nline\nof\nits\nown\n" * 3,
        b"wr_key_ is how one begins".hex(),
        base64.b64encode(b"A key begins with wr_key_ and has letters and digits behind it").decode(),
        base64.b64encode(b"wr_session_of_the_team, wr_keys_of_all_the_teams, wr_workflows").decode(),
        b"wr_session_of_the_team, wr_keys_of_all_the_teams, wr_workflows".hex(),
    ],
)
def test_what_is_encoded_and_no_key_of_ours_is_none(text):
    assert not holds_own_key(text)
    assert not holds_own_key(f"data:image/png;base64,{text}")


@pytest.mark.parametrize(
    "text",
    [
        "see https://example.com/a%20b?x=%2Fy&amp;z, C:\\users\\new, caf\u00e9, \u200bquote\u200b, \uff11\uff12",
        "commit-0123456789abcdef0123456789abcdef01234567, sha256:" + _HEX * 4,
        "test_that_the_second_of_2_runs_2_times, MY_CONSTANT_OF_2026, user_2abcdefGHIJ",
        "token: the first one; secret = something; key: value; password=hunter2",
        "postgres://me:hunter2@db/x, https://git@example.com/x, https://someone.with.a.long.name2@example.com",
        "st.v1.0123456789abcdefghjkmnpqrstvwxyz0123456789abc and ack.v1.0123456789abcdefghjkmnpqrstvwxyz0123456789abc",
        "key-value, fc-barcelona, re_match_object, pa-rticular, sdk-version, dose of it, basic knowledge, login password",
    ],
)
def test_what_reads_otherwise_or_has_a_word_before_it_stays_as_it_is(text):
    assert hide_keys(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "desk-0123456789abcdef",
        "task-0123456789abcdef",
        "pul-request",
        "sess-ion",
        "r8_is_a_name",
        "ntn_of_words",
        "1//0.5",
        "dp.pt.x",
    ],
)
def test_what_only_looks_like_the_beginning_of_a_key_stays(text):
    assert hide_keys(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "asiakowalczykowska and aidafernandezlopez85",
        "AsiaPacificRegionalTeam",
        "aiza-reviews-the-pull-requests-of-2026-and-after",
        "feature/SK-1234-add-login-page",
        "sk-learn-based-pipeline-of-step-2",
        "sess-2026-11-20-planning-meeting and sess-20261120-planning-meeting",
        "xai-explained-in-2-pages-for-everyone",
        "r8_is_the_8_th_of_all_registers",
        "GITHUB_PAT_TOKEN_FOR_CI, ghs_status_of_the_run and gho_is_a_word_2",
        "sk_test_accuracy_score_v2 and whsec_of_the_test_server_3",
        "pypi-agents-and-their-things",
        "sg.regional-hosting-company.cloudprovider-internal.example",
    ],
)
def test_names_of_people_branches_and_variables_stay(text):
    """A person could not be invited under the first two, and a branch was not found again by its name."""
    assert hide_keys(text) == text


@pytest.mark.parametrize(
    "key", ["AKIAIOSFODNNAEXAMPLE", "akia0123456789abcdef", "asiay34fzkbokmutvv7a", "AIDA0123456789ABCDEF"]
)
def test_an_id_of_amazon_is_found_in_large_letters_and_in_small_ones(key):
    assert hide_keys(f"Use {key} there") == f"Use {HIDDEN} there"


@pytest.mark.parametrize("name", NAMES)
def test_a_secret_is_named_the_same_in_the_log_and_in_the_trace(name):
    assert is_secret_name(name)
    assert Redactor()(None, "info", {name: "x"}) == {name: HIDDEN}
    assert redact_arguments(arguments={name: "x"}) == {name: HIDDEN}


@pytest.mark.parametrize("name", INNOCENT)
def test_an_innocent_name_hides_nothing(name):
    assert not is_secret_name(name)
    assert redact_arguments(arguments={name: "x"}) == {name: "x"}


@pytest.mark.parametrize("text", ["A plain sentence.", "v1 of the plan", "see https://example.com/x", "keys: a, b"])
def test_a_text_without_a_secret_stays_as_it_is(text):
    assert hide_secrets(text) == text


CUNNING = [
    "PA\u017f\u017fWORD=hunter2",
    "TO\u212aEN=hunter2",
    "st .\tV1. q8w7e6r5t4y3u2i1",
    "Xoxb-0123456789",
    "API_KEY=hunter2",
]


@pytest.mark.parametrize("text", CUNNING)
def test_the_first_look_misses_nothing_that_the_patterns_find(text):
    """Letters that are others' capitals among them: what is compared without regard to case is compared so twice."""
    assert HIDDEN in hide_secrets(text)


def own_prefixes():
    """The prefixes of everything that this product mints and shows once."""
    from teams_app.engine import keys, links, webhooks
    from teams_app.engine.credentials import Mark

    found = {value for room in (keys, links, webhooks) for value in vars(room).values() if _is_prefix(value)}
    return sorted(found | {mark.value for mark in Mark})


def _is_prefix(value):
    return isinstance(value, str) and re.fullmatch(r"wr_[a-z]+_", value) is not None


def test_whatever_is_minted_here_is_known_by_its_prefix():
    assert own_prefixes() == sorted(OWN_MARKS)
    for prefix in own_prefixes():
        for minted in (f"{prefix}{letters}"[:cut] for letters in MADE_LETTERS for cut in (None, -1, -8)):
            assert minted[20:] not in hide_secrets(minted)
            assert holds_own_key(f"a word, {minted}.")


@pytest.mark.parametrize(
    "text",
    ["task-list-of-the-team-2", "sk-learn compatible", "asia and akia", "hf_some_long_variable_name", "hf_sixteenSmallWordsInCodeWithoutDigit", "ghp_thirtysixlettersofasinglecaseonlyyes", "wr_key_", "the sg. part",
     "npm_config_registry", "the private key of the server", "password policy", "token bucket", "key: value", "st.v1.abcdef"],
)  # fmt: skip
def test_what_an_agent_may_well_write_is_kept_as_it_is(text):
    assert hide_keys(text) == text
    assert not holds_own_key(text)


@pytest.mark.parametrize(
    "text",
    [
        "://a:",
        "bearer ",
        "password=",
        "-----BEGIN PRIVATE KEY-----",
        "sk-a",
        "st.v1.",
        "cookie:",
        "a_" * 20,
        "%41",
        "\\u0041",
        "&#65;",
        "\u200b",
        "\uff21",
        "AzFu",
        "A" * 50 + "AzFu",
        "a_A1b",
        "login a password ",
        "token=A1b",
        "1/",
        "d3Jfa2V5X2",
        "d3Jfa2V5X2\n",
        "d\n3\n",
        "725f6b65795f61",
        "72 5f ",
        "72\n",
        "r\x00_\x00k\x00",
    ],
)
def test_looking_for_secrets_takes_time_in_proportion(text):
    """Processor time, as a ratio: ten times the text may take thirty times as long, and not a hundred."""

    def spent(length):
        long, begun = text * (length // len(text)), time.thread_time()
        hide_secrets(long)
        return time.thread_time() - begun

    spent(1_000)
    small = min(spent(20_000) for _ in range(3))
    assert min(spent(200_000) for _ in range(2)) < 30 * small + 0.05


# What a picture may hold in the middle: each is twelve letters of base64 and more, behind a sign that ends a word.
AMID = [
    "/eyJhbGciOiJI",
    "+eyJhbGciOiJI",
    "/AKIA0123456789AB",
    "+AIzaSy" + _LONG,
    "/dapi" + _HEX * 2,
    "/ABSK" + _LONG * 3,
]


@pytest.mark.parametrize("amid", AMID)
def test_base64_that_goes_on_holds_no_key_whatever_it_looks_like(amid):
    picture = base64.b64encode(MADE_BYTES[900:1800]).decode()
    text = f"![A picture](data:image/png;base64,{picture}{amid}{picture})"

    assert hide_keys(text) == text
    for before in (f"{picture} ", f"{picture}==", f"{picture}\n", "a/b/c/D9/" * 40, ""):
        key = amid.lstrip("+/")
        assert hide_keys(f"{before}{key} there") == f"{before}{HIDDEN} there"


@pytest.mark.parametrize("text", ["eyjafjallajokull", "/eYjaBcDeFgHiJkL", "+EYJABCDEFGHIJKL"])
def test_only_json_in_base64_begins_as_such(text):
    assert hide_keys(text) == text


@pytest.mark.parametrize("seed", range(3))
def test_looking_for_secrets_writes_nothing_into_the_log(capfd, seed):
    """Whoever sends bytes without order had a line of it, which was none of ours."""
    made = Random(seed).randbytes(400_000)
    for text in (base64.b64encode(made).decode(), made.decode("utf-8", "replace"), made.decode("latin-1")):
        hide_secrets(text)
        holds_own_key(text)

    assert capfd.readouterr() == ("", "")


ALL_KEYS = [key for key in [*ISSUED, *MADE, *UNHEARD, *map("".join, NEXT_TO)] if not holds_own_key(key)]


@pytest.mark.parametrize("zeros", [0, 1, 4_290, 4_300, 50_000])
@pytest.mark.parametrize(
    "written", ["&#{}65;", "&#{}65", "&#x{}41;", "&#X{}41", "\\u{{{}41}}", "&#{};", "&#x{};", "&#{}"]
)
def test_a_character_that_is_written_with_any_number_of_zeros_is_read(written, zeros):
    from teams_app.engine.redaction import hide_secrets, read_kept

    text = f"a {written.format('0' * zeros)} b"

    assert read_kept({"notes": text}).value == {"notes": text}
    assert hide_secrets(text) == text


@pytest.mark.parametrize("spelt", ["%41", "%2541", "\\u0041", "&#65;", "\u200b", "\uff21"])
def test_a_text_is_read_plainly_once_however_many_keys_are_found_in_it(spelt):
    beside = spelt * (200_000 // len(spelt))
    with Work() as of_one:
        hide_keys(f"{ISSUED[0]} {beside}")

    with Work() as work:
        hidden = hide_keys(f"{' '.join(ALL_KEYS)} {beside}")

    assert hidden.count(HIDDEN) >= len(ALL_KEYS)
    assert hidden.endswith(f" {beside}")
    assert work.seconds <= 6 * of_one.seconds + 0.05


def by_look(text):
    """The same, read anew after each look."""
    text = _without(text, lambda plain: [(begin, end, f"{shown}{HIDDEN}") for begin, end, shown in own_keys(plain)])
    for look in KEYS:
        text = _without(
            text, lambda plain, look=look: [(*each.span(), look.put_for(each)) for each in look.pattern.finditer(plain)]
        )
    return text


def _without(text, found):
    plain, kept, end = read_plainly(text), [], 0
    for begin, last, instead in found(plain.text):
        kept += [text[end : plain.begin_of(begin)], instead]
        end = plain.end_of(last)
    return "".join([*kept, text[end:]])


@pytest.mark.parametrize("seed", range(40))
def test_what_look_after_look_finds_is_what_all_find_of_one_reading(seed):
    random = Random(seed)
    parts = [
        *ALL_KEYS,
        *LOOKS,
        HIDDEN,
        "[",
        "%41",
        "&#95;",
        "\\u005f",
        "\u200b",
        " ",
        "_",
        '"',
        "password=",
        "://u:",
        "@",
        "\n",
    ]
    for _ in range(20):
        text = "".join(random.choice(parts)[: random.choice([9, 20, 500])] for _ in range(random.randint(1, 9)))
        if random.random() < 0.5:
            text = "".join(f"%{ord(each):02x}" if random.random() < 0.1 and each.isascii() else each for each in text)

        assert hide_keys(text) == by_look(text)


@pytest.mark.parametrize("seed", range(10))
def test_a_look_that_goes_past_the_rest_of_a_text_finds_what_its_pattern_finds(seed):
    random = Random(seed)
    parts = [*ALL_KEYS, *LOOKS, HIDDEN, " ", '"', "://u:", "@", "\n", "/", "a" * 600, "A1b" * 400, "a_" * 300, "\ud800"]
    for _ in range(20):
        text = "".join(random.choice(parts)[: random.choice([3, 20, 2000])] for _ in range(random.randint(1, 30)))
        for look in KEYS:
            found = [match.span() for match in _found(look, text)]
            assert found == [match.span() for match in look.pattern.finditer(text)], look.pattern.pattern


@pytest.mark.parametrize("fill", ["a b c d ", "a_A1b", "0123456789abcdef", "%41", "\u200b", "\uff21"])
def test_keys_are_found_for_little_more_than_going_through_the_text(fill):
    text = f"{' '.join(ALL_KEYS)} {fill * (300_000 // len(fill.encode()))}"
    hide_keys(text)
    once, looked = [], []
    for _ in range(3):
        with Work() as work:
            sum(1 for _ in range(300_000))
        once.append(work.seconds)
        with Work() as work:
            hide_keys(text)
        looked.append(work.seconds)

    assert min(looked) <= 30 * min(once)


@pytest.mark.parametrize("around", ["\ud800{}\udfff", "{}\u0000", "\u00df\u0130 {} \ufb06", "a" * 5_000 + " {}"])
def test_no_neighbour_of_a_secret_keeps_it_from_being_found(around):
    key = "ghp_0123456789abcdef0123"
    for spelt in (key, key.upper(), "s\u212a-0123456789abcdef", "\u017fk-0123456789abcdef"):
        assert HIDDEN in hide_keys(around.format(spelt)), spelt
        assert HIDDEN in hide_secrets(around.format(spelt)), spelt
        assert may_hold_keys(around.format(spelt)), spelt


@pytest.mark.parametrize("written", [r"wr\_key\_", r"wr\\_key\\_", r"wr\_key_"])
def test_a_key_is_found_as_markdown_writes_it(written):
    secret = "3adgaqe5tlrk73jpz6yjk2gm3wjufbwmvu3wvrf7"
    assert secret[8:] not in hide_keys(f"The kiln {written}{secret} is hot")


@pytest.mark.parametrize("text", [r"C:\_old\-new and \_ alone", r"a\_name\_of\_a\_variable", "\\" * 200 + "_"])
def test_what_markdown_writes_otherwise_stays_as_it_is_written(text):
    assert hide_keys(text) == text


# As the random bytes of a key are written: letters and digits from 2 to 7.
MADE_LETTERS = [base64.b32encode(Random(seed).randbytes(25)).decode().lower() for seed in range(12)]
BREAKS = {
    "a line": "\n",
    "a line of Windows": "\r\n",
    "a line in JSON": "\\n",
    "a line of a block": "\n        ",
    "a line of an answer": "\n> ",
    "a line with a hyphen": "-\n",
    "a line that goes on": "\\\n",
    "a line of a mail": "=\n",
    "a line in an address": "%0A",
    "a line of a comment": "\n# ",
    "a blank": " ",
    "a tab": "\t",
    "a blank that does not break": "\u00a0",
    "a blank in markup": "&nbsp;",
    "a tag": "<wbr>",
    "a tag with words": '<b class="x y">',
    "two tags": "</b><i>",
    "a comment in markup": "<!-- -->",
    "stars": "**",
    "a quote mark": '"',
    "quotes": "' + '",
    "quotes in JSON": '\\" \\"',
    "a mark on a letter": "\u0301",
    "a mark in JSON": "\\u0301",
    "a colour of a terminal": "\x1b[31m",
    "a colour in JSON": "\\u001b[0m",
    "three points": "\u2026",
}
PLAIN_BREAKS = frozenset(BREAKS)
# What is not seen, and what markup shows of nothing, as each language writes it.
BREAKS |= {
    f"{kind}, {how}": spelt(character)
    for kind, character in {
        "a joint of no width": "\u200b",
        "a joiner": "\u200d",
        "a mark of order": "\ufeff",
        "a joint of words": "\u2060",
        "a soft hyphen": "\u00ad",
        "a selector": "\ufe0f",
        "a tag that is not seen": "\U000e0041",
        "a blank that does not break": "\u00a0",
        "a narrow blank": "\u202f",
    }.items()
    for how, spelt in {
        "in an address": quote,
        "in an address in an address": lambda each: quote(quote(each)),
        "in markup": lambda each: f"&#{ord(each)};",
        "in markup, in hex": lambda each: f"&#x{ord(each):x};",
        "in markup, in large hex": lambda each: f"&#X{ord(each):05X};",
        "in markup in markup": lambda each: f"&amp;#x{ord(each):x};",
        "in markup in JSON": lambda each: f"\\u0026#{ord(each)};",
        "in markup in an address": lambda each: quote(f"&#{ord(each)};"),
        "in JSON": lambda each: json.dumps(each)[1:-1],
        "in JSON in JSON": lambda each: json.dumps(json.dumps(each))[1:-1],
        "in JavaScript": lambda each: f"\\u{{{ord(each):x}}}",
        "in Python": lambda each: f"\\U{ord(each):08x}",
        "in Perl": lambda each: f"\\x{{{ord(each):x}}}",
        "in bytes": lambda each: "".join(f"\\x{octet:02x}" for octet in each.encode()),
        "in octal bytes": lambda each: "".join(f"\\{octet:03o}" for octet in each.encode()),
        "in a mail": lambda each: "".join(f"={octet:02X}" for octet in each.encode()),
        "in brackets": lambda each: f"<U+{ord(each):04X}>",
    }.items()
}
BREAKS |= {
    f"&{name};": f"&{name};"
    for name in (
        "ZeroWidthSpace",
        "zwnj",
        "zwj",
        "shy",
        "NoBreak",
        "lrm",
        "rlm",
        "nbsp",
        "thinsp",
        "hellip",
        "Tab",
        "NewLine",
    )
}
BREAKS |= {
    "a line that a terminal empties": "\x1b[2K",
    "a soft hyphen without an end": "&shy",
    "a blank without an end": "&nbsp",
    "a tag of a thousand letters": f'<span style="{"color: red; " * 80}">',
    "markup in markup in markup in markup": "&amp;amp;amp;#8203;",
}
BREAKS |= {
    f"{tag} {how}": spelt(tag)
    for tag in (
        "<b>",
        "</b><i>",
        '<span style="color: #e0e0e0; font-weight: bold; background: yellow; font-family: monospace">',
        "<!-- -->",
    )
    for how, spelt in {
        "in markup": html.escape,
        "in markup in markup": lambda tag: html.escape(html.escape(tag)),
        "in JSON": lambda tag: tag.replace("<", "\\u003c").replace(">", "\\u003e").replace('"', '\\"'),
        "in an address": quote,
        "in numbers": lambda tag: "".join(f"&#{ord(each)};" if each in "<>&" else each for each in tag),
    }.items()
}


def assert_nothing_is_left(written, secret):
    text = f"Seen: {written} there, and so on."
    assert holds_own_key(text), written
    for hidden in (hide_keys(text), hide_secrets(text)):
        assert HIDDEN in hidden, written
        assert hidden.startswith("Seen: "), written
        assert hidden.endswith(" there, and so on."), written
        # What reads as a whole one is known by its beginning.
        left = hidden.replace(f"{secret[:8]}{HIDDEN}", HIDDEN)
        assert not any(secret[at : at + 4] in left for at in range(37)), (written, hidden)


@pytest.mark.parametrize("broken", BREAKS)
def test_a_key_of_ours_is_found_and_whole_wherever_one_thing_breaks_it(broken):
    # Of the many ways to write what is not seen each has one kind of key.
    one = list(BREAKS).index(broken) % len(OWN_MARKS)
    for number, prefix in enumerate(OWN_MARKS):
        for secret in (MADE_LETTERS[number], "abcdefgh" * 5)[: 2 if broken in PLAIN_BREAKS else number == one]:
            key = f"{prefix}{secret}"
            for at in range(1, len(key)):
                assert_nothing_is_left(f"{key[:at]}{BREAKS[broken]}{key[at:]}", secret)


@pytest.mark.parametrize("broken", BREAKS)
@pytest.mark.parametrize("each", [4, 5, 7, 9, 12, 15])
def test_a_key_of_ours_is_found_and_whole_where_it_is_broken_again_and_again(broken, each):
    for secret in MADE_LETTERS if broken in PLAIN_BREAKS else MADE_LETTERS[:2]:
        assert_nothing_is_left(_in_lines(f"wr_key_{secret}", each, BREAKS[broken]), secret)


def test_a_mark_that_has_become_one_with_a_letter_breaks_no_key():
    for secret in MADE_LETTERS:
        for at in range(8, 40):
            written = normalize("NFC", f"wr_key_{secret[:at]}\u0301{secret[at:]}")
            assert holds_own_key(f"Seen: {written} there"), written
            assert secret[-6:] not in hide_keys(f"Seen: {written} there"), written


@pytest.mark.parametrize(
    "text",
    [
        "A key is `wr_key_` and forty letters and digits (a-z2-7), as the document of keys says in detail.",
        "wr_key_ is how one begins a key, and it goes on for a while until the line ends somewhere.",
        "Use wr_key_\u2026 here: the header is `Authorization: Bearer wr_key_\u2026`, and nothing else is understood there.",
        "wr_key_, wr_pat_, wr_oat_, wr_ort_, wr_hook_ and wr_link_ are the prefixes of what is minted by the server",
        "wr_key_ <b>in bold</b> with internationalization and requireAuthorizationHeaderOfTheTeam behind it",
        "the prefix wr_key_\n\n1. base32 of 25 bytes\n2. sha256 of the whole\n3. utf16, int32 and float64",
        "KEY=wr_key_ PAT=wr_pat_ ./workrail mcp --dialect rail --and-some-more-words=of-the-command-line",
        "w r _ k e y _ is how one spells it, letter by letter, to somebody who listens and writes it down",
        "the row wr_key_ 2026-11-20 12:31:07 7f3e2c5d6b4a7f3e2c5d6b4a7f3e2c5d6b4a7f3e",
        "wr_keys of the team, the wr_workflows and wr_session_of_the_team are names of tables with words",
    ],
)
def test_words_behind_the_mark_of_our_keys_are_no_key(text):
    assert not holds_own_key(text)
    assert hide_keys(text) == text


def test_hardly_any_words_behind_the_mark_are_taken_for_a_key():
    """Forty letters are at the end of a word by chance in one of five texts: a key needs more than that."""
    read = Path(__file__).parents[2].glob("docs/*.md")
    words = [word for page in sorted(read) for word in page.read_text(encoding="utf-8").split() if "_" not in word]
    taken = [f"wr_key_ {' '.join(words[at : at + 20])}" for at in range(len(words) - 20)]
    assert len(taken) > 10_000
    assert sum(map(holds_own_key, taken)) <= len(taken) / 10_000


@pytest.mark.parametrize(
    "unit",
    ["wr_key_", "wr_key_ ", "wr_key_a ", "w", "w\n", "w\nr\n_\n", "w<", "w<b>", "w\\n", "wr_key_a\\\\\\n", "wr_key_<", "<wr_key_ab>",
     "wr_key_a2<b>", "wr_key_&amp;", "w&amp;", "w%0a", "w\x1b[0m", "wr_key_" + "\u0301" * 30, "a2 ", "\\" * 9 + "w", "w" + "\\n" * 90],
)  # fmt: skip
def test_looking_for_what_breaks_a_key_takes_time_in_proportion(unit):
    def spent(length):
        text = "wr_key_ " + unit * (length // len(unit))
        with Work() as work:
            hide_keys(text)
            holds_own_key(text)
        return work.seconds

    spent(1_000)
    small = min(spent(20_000) for _ in range(3))
    assert min(spent(200_000) for _ in range(2)) < 30 * small + 0.05


# Names that begin as keys do, as code, tests and documents have them.
NAMES_LIKE_KEYS = [
    "wr_key_id", "WR_KEY_ROTATED", "wr_pat_store", "test_wr_key_in_notes", "wr_key_rotation_schedule", "wr_hook_secret_of_the_team",
    "wr_link_path", "WR_OAT_LIFETIME_SECONDS", "wr_ort_is_revoked", "wr_key_internationalization", "wr_key_authenticationmiddleware",
    "wr_key_2factor", "wr_key_2026", "wr_key_v2", "wr_key_sha256", "wr_key_base64encodedsha256", "wr_key_requireAuthorizationHeaderOfTheTeam",
    "wr_session_workflow", "wr_workflows_of_the_team", "wr_key_" + "x" * 40, "WR_KEY_" + "X" * 40, "wr_pat_" + "xy" * 20, "wr_key_" + "0" * 40,
    "wr_key_abcdefghijklmnopqrstuvwxyz", "wr_key_abcdefghijklmnopqrstuvwxyz234567", "wr_key_abcdefghijklmnopqrstuvwxyz0123456789",
    "wr_key_" + hashlib.sha1(b"a").hexdigest(), "wr_key_abcdefgh", "wr_key_abcdefgh\u2026", "wr_key_[redacted]",
    "wr_key_YOUR_KEY_HERE", "wr_key_<your key>", "wr_key_${KEY}", "wr_key_{{key}}", "wr_key_%s", "wr_key_...", "wr_pat_***",
    "wr_key_id = row.id\nwr_key_text = row.text\nreturn wr_key_id, wr_key_text", 'self.wr_key_prefix.startswith("wr_key_")',
    "SELECT wr_key_id, wr_key_digest FROM keys WHERE wr_key_id = %(id)s", "def test_wr_key_in_notes_is_refused(desk, wire):", "--wr-key-file=a.txt",
    "wr_key_id=1&wr_pat_store=2", "wr%5Fkey%5Fid", "wr&lowbar;key&lowbar;id and wr\\_key\\_id", "wr_key_&lt;b&gt;id&lt;/b&gt;",
]  # fmt: skip


@pytest.mark.parametrize("text", NAMES_LIKE_KEYS)
@pytest.mark.parametrize("around", ["{}", "see `{}` there", "a_{}", '{{"{}": 1}}', "https://example.com/{}/x?{}=1"])
def test_what_only_begins_as_a_key_of_ours_is_a_name(text, around):
    written = around.replace("{{", "{").replace("}}", "}").replace("{}", text)
    assert not holds_own_key(written)
    assert hide_keys(written) == hide_secrets(written) == written


def test_no_name_and_no_line_of_this_repository_becomes_a_key_by_the_mark_before_it():
    root = Path(__file__).parents[2]
    rooms = ("teams_app", "workflows_app", "sessions_app", "traces_app", "workrail_site", "templates")
    code = [
        page.read_text(encoding="utf-8")
        for room in rooms
        for end in ("py", "html")
        for page in sorted((root / room).rglob(f"*.{end}"))
    ]
    docs = [page.read_text(encoding="utf-8") for page in sorted((root / "docs").rglob("*.md"))]
    read = {name for text in code for name in re.findall(r"[A-Za-z_][A-Za-z0-9_]*", text)}
    # An example of an id is made as a key is.
    names = sorted(name for name in read if not re.fullmatch(r"(?=[a-z]+[2-7]+[a-z]+[2-7])[a-z2-7]{24,}", name))
    assert len(names) > 5_000

    for at, name in enumerate(names):
        mark = OWN_MARKS[at % len(OWN_MARKS)]
        for written in (f"{mark}{name}", f"{mark}{name}".upper(), f"{mark}store_{name}"):
            assert not holds_own_key(written), written
        assert hide_keys(written) == written
    lines = [line.strip() for text in code + docs for line in text.splitlines()]
    lines += [f"{name} = {name}(wr_key_id, 2)" for name in names]
    of_lines = [f"{OWN_MARKS[at % len(OWN_MARKS)]}{line}" for at, line in enumerate(lines)]
    assert sum(map(holds_own_key, of_lines)) <= len(of_lines) / 10_000


@pytest.mark.parametrize("cut", range(24, 40))
def test_most_of_a_key_of_ours_is_found_too(cut):
    """Of fewer letters nobody guesses the others. One of thirty such has fewer than two digits, and reads as words do."""
    made = [base64.b32encode(Random(seed).randbytes(25)).decode().lower()[:cut] for seed in range(400)]
    found = [letters for letters in made if holds_own_key(f"Use wr_key_{letters}, please")]
    assert len(found) >= 0.9 * len(made)
    assert all(letters[8:] not in hide_keys(f"Use wr_key_{letters}, please") for letters in found)


def test_every_whole_key_of_ours_is_found_and_known_by_its_beginning():
    for seed in range(5_000):
        letters = base64.b32encode(Random(seed).randbytes(25)).decode().lower()
        for mark in ("wr_key_", "wr_link_"):
            shown = f"{mark}{letters[:8]}" if mark == "wr_key_" else mark
            assert hide_keys(f"x_{mark}{letters}_y") == f"x_{shown}{HIDDEN}_y"
            assert holds_own_key(f"{mark}{letters}".upper())


@pytest.mark.parametrize("mark", OWN_MARKS)
def test_whatever_is_refused_as_a_key_of_ours_is_hidden_where_it_is_kept(mark):
    key, refused = f"{mark}{MADE_LETTERS[0]}", 0
    for between in ("\uff3f", "%", "\u200b", "&", "\\", "=", "<b>", "%25", "\uff05"):
        for size in (2, 3, 5, 8, 13, 21):
            broken = between.join(key[at : at + size] for at in range(0, len(key), size))
            text = f"saw {broken} there"
            if holds_own_key(text):
                refused += 1
                assert broken not in hide_keys(text), (between, size)
                assert not holds_own_key(hide_keys(text)), (between, size)
                assert not holds_own_key(hide_secrets(text)), (between, size)
    assert refused > 20


@pytest.mark.parametrize("mark", OWN_MARKS)
def test_a_key_of_ours_is_one_in_whichever_case_and_but_for_two_letters_without_digits(mark):
    letters = "thkpdjukwcrletsfnnxxjzglsrpohffwmapnznse"
    for at in range(0, 40, 3):
        assert holds_own_key(f"{mark}{letters[:at]}{letters[at:].title()}")
        assert holds_own_key(f"{mark}{letters[:at]}{letters[at : at + 1].upper()}{letters[at + 1 :]}")
    for cut in (39, 38):
        assert holds_own_key(f"{mark}{letters[:cut]} there")
    assert not holds_own_key(f"{mark}{letters[:35]} and so on")


@pytest.mark.parametrize("mark", OWN_MARKS)
def test_what_was_hidden_before_is_no_key_whatever_stands_behind_it(mark):
    chance = Random(7)
    for _ in range(400):
        words = " ".join("".join(chance.choices("abcdefgh234567", k=chance.randint(1, 9))) for _ in range(9))
        hidden = hide_keys(f"{mark}{chance.choice(MADE_LETTERS)} {words}")

        assert hidden.endswith(f"{HIDDEN} {words}")
        assert not holds_own_key(hidden)
        assert (hide_keys(hidden), hide_secrets(hidden)) == (hidden, hidden)
