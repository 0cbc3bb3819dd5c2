"""Every secret that Workrail hands out or is told, through every door of a real server and worker, and then looked for wherever something
is written: it stands nowhere but where it has to.
"""

import base64
import gzip
import re
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
import redis
from django.conf import settings
from django.utils import timezone

from sessions_app import jobs
from teams_app.models import NoticeDelivery
from tests import run_cast
from tests.clusters import eventually
from tests.mcp.conftest import environ_of_site, running_site
from tests.mcp.test_oauth import Person, Program, told
from tests.mcp.test_secrets_in_arguments import everything_kept
from tests.mcp_play import ACCEPT, HANDSHAKE
from tests.run_cast import plain_steps, published

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = Path(__file__).resolve().parents[2]
WORKER = "--pool threads --concurrency 1 --loglevel INFO --without-gossip --without-mingle --without-heartbeat"
PASSWORD, NEW_PASSWORD = "canary-old-quokka-7391", "canary-new-numbat-8264"
MCP = {"Accept": ACCEPT, "MCP-Protocol-Version": HANDSHAKE}
PUBLIC = "http://127.0.0.1"
HOOK = "canary-hook-path-5127"
CSRF = "canarycsrf" + "a" * 22
# What the server is told by its environment.
SERVERS = {
    "token of metrics": "canary-metrics-token-" + "1" * 24,
    "key of tokens": base64.urlsafe_b64encode(b"canary of the key of all tokens.").decode(),
    "key of seals": base64.urlsafe_b64encode(b"canary of the key of every seal.").decode(),
}
STUDIO = {
    "teams_app": ["agentkey", "auditentry", "invitation", "membership", "personaltoken", "team"],
    "sessions_app": ["run", "worksession", "checkpointrequest", "bundlejob"],
    "traces_app": ["traceevent"],
}
# These stand in rows: notices are signed with the first and sent to the second, and Django finds the session of a browser by the third.
KEPT = {
    ("secret of notices", "teams_app_endpoint"),
    ("hook address", "teams_app_endpoint"),
    ("cookie of a sign-in", "django_session"),
}
COLUMNS = {"teams_app_endpoint": '"failing_since"', "django_session": '"session_data"'}


@dataclass
class Canaries:
    """`answers` are all that the server said beside those answers that hand a secret out."""

    http: httpx.Client
    secrets: dict = field(default_factory=dict)
    answers: list = field(default_factory=list)

    def __call__(self, method, path, *, hands_out=False, **more):
        answer = self.http.request(method, path, **more)
        if not hands_out:
            # A browser is told its own cookie.
            headers = {name: value for name, value in answer.headers.items() if name != "set-cookie"}
            is_packed = answer.content[:2] == b"\x1f\x8b"
            text = gzip.decompress(answer.content).decode("utf-8", "replace") if is_packed else answer.text
            self.answers.append((f"{method} {path}", f"{headers} {text}"))
        return answer

    def hands_out(self, name, path, body, *names):
        """A secret that this call shows once."""
        answer = self("POST", path, hands_out=True, json=body)
        assert answer.status_code in {200, 201}, (path, answer.text)
        value = answer.json()
        for each in names:
            value = value[each]
        self.secrets[name] = value.strip("/").rpartition("/")[2]
        return answer.json()


def spellings(secret):
    """As it may stand in a row, a message of the broker or an address."""
    data = secret.encode()
    return {secret, data.hex(), base64.b64encode(data).decode().rstrip("=")[:-1], quote(secret, safe="")}


def found_in(text, secrets):
    return sorted(name for name, secret in secrets.items() if any(each in text for each in spellings(secret)))


def everything_in_redis():
    """Names and values of all keys; what tasks were asked for with their bodies."""
    said = []
    readers = {
        "string": lambda client, key: [client.get(key)],
        "list": lambda client, key: client.lrange(key, 0, -1),
        "set": lambda client, key: client.smembers(key),
        "zset": lambda client, key: client.zrange(key, 0, -1),
        "hash": lambda client, key: [each for pair in client.hgetall(key).items() for each in pair],
    }
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        for key in client.scan_iter():
            said.append(key)
            said += readers[client.type(key).decode()](client, key)
    texts = [each.decode("utf-8", "replace") for each in said if each is not None]
    bodies = [base64.b64decode(body).decode() for text in texts for body in re.findall(r'"body": "([^"]+)"', text)]
    return "\n".join([*texts, *bodies])


def table_of(row):
    return next((table for table, column in COLUMNS.items() if column in row), row[:400])


@contextmanager
def worker(log, environ):
    command = [sys.executable, "-m", "celery", "--quiet", "-A", "workrail_site.celery", "worker", *WORKER.split()]
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=out, stderr=out)
    try:
        yield
    finally:
        process.terminate()
        process.wait(timeout=30)


def secrets_of(call, site, alice):
    """All kinds, each from its door."""
    notices = {"url": f"https://localhost:1/hooks/{HOOK}", "kinds": ["run_started", "run_completed"]}
    ends = (timezone.now() + timedelta(days=9)).isoformat()
    scopes = ["runs:write", "runs:read", "workflows:read", "traces:read", "team:read"]
    call.hands_out("agent key", "/api/v1/keys", {"name": "an agent", "scopes": scopes}, "text")
    call.hands_out(
        "personal token", "/api/v1/tokens", {"name": "a laptop", "expiresAt": ends, "scopes": ["manage"]}, "text"
    )
    call.hands_out("secret of notices", "/api/v1/endpoints", notices, "secret")
    call.hands_out("link of an invitation", "/api/v1/invitations", {"username": "dora", "role": "viewer"}, "link")
    members = call("GET", "/api/v1/members").json()["items"]
    bob = next(each["id"] for each in members if each["username"] == "bob")
    call.hands_out("link of a password", f"/api/v1/members/{bob}/password-link", {}, "link")
    program = Program(site)
    program.resource = f"{PUBLIC}/oauth/mcp/rail"
    code = told(alice.answers(program.asks()))["code"]
    tokens = program.fetches(code).json()
    call.secrets |= {
        "hook address": HOOK,
        "password": PASSWORD,
        "new password": NEW_PASSWORD,
        "code of a client": code,
        "verifier of a client": program.verifier,
        "access token": tokens["access_token"],
        "refresh token": tokens["refresh_token"],
        "cookie of a sign-in": alice.http.cookies[settings.SESSION_COOKIE_NAME],
        **SERVERS,
    }
    program.fetches(code)
    program.renews(tokens["refresh_token"] + "x")


def sign_in(call):
    """By a password, and then to another one; and by one that is wrong."""
    page = "/studio/login/"
    form = {"username": "alice", "csrfmiddlewaretoken": CSRF}
    for password in (NEW_PASSWORD, PASSWORD):
        answer = call("POST", page, data={**form, "password": password})
    assert answer.status_code == 302, answer.text
    changed = {
        "old_password": PASSWORD,
        "new_password1": "short",
        "new_password2": NEW_PASSWORD,
        "csrfmiddlewaretoken": CSRF,
    }
    call("POST", "/studio/password_change/", data=changed)


def send_everywhere(call, secret):
    """As a credential at every door, and in addresses; one that can be told by its look also where no credential belongs."""
    bearer = {"Authorization": f"Bearer {secret}"}
    for path in ("/api/v1/whoami", "/studio/", "/metrics", "/oauth/authorize?client_id=x"):
        call("GET", path, headers=bearer)
    for path in ("/mcp/rail", "/oauth/mcp/rail", "/mcp/session"):
        call("POST", path, json=message(secret), headers={**MCP, **bearer})
    for path in ("/api/v1/nowhere?{}=1", "/studio/nowhere/?q={}", "/readyz?{}"):
        call("GET", path.format(quote(secret)))
    call("POST", "/oauth/token", data={"grant_type": "refresh_token", "refresh_token": secret, "client_id": "x"})
    call("POST", "/oauth/revoke", data={"token": secret, "client_id": "x"})
    if secret.startswith("wr_"):
        _send_astray(call, secret, {"Authorization": f"Bearer {call.secrets['agent key']}"})


def _send_astray(call, secret, by_key):
    run = {"workflowId": "team.sample", "goal": f"Use {secret}", secret: secret}
    as_json = {**by_key, "Content-Type": "application/json"}
    for path in ("/api/v1/runs", "/api/v1/sessions", "/api/v1/nowhere"):
        call("POST", path, json=run, headers=by_key)
        call("POST", path, content=f'{{"{secret}', headers=as_json)
    for sent in (message(secret), message(secret, tool=secret)):
        call("POST", "/mcp/rail", json=sent, headers={**MCP, **by_key})
    call("POST", "/mcp/rail", content=f'{{"{secret}', headers={**MCP, **as_json})
    for path in (
        "/api/v1/runs/{}",
        "/api/v1/runs?cursor={}",
        "/studio/sessions_app/run/?q={}",
        "/studio/find/?q={}",
        "/studio/join/{}x/",
    ):
        call("GET", path.format(quote(secret)), headers=by_key if path.startswith("/api") else {})
    odd = {"User-Agent": secret, "Referer": f"http://x/{secret}", "X-Request-ID": secret, "Idempotency-Key": secret}
    call("POST", "/api/v1/sessions", json={"title": "A title"}, headers={**by_key, **odd})


def message(secret, *, tool="list_workflows"):
    return {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": {"search": secret}},
    }


def look_around(call):
    """What people and programs are shown of it all."""
    by_key = {"Authorization": f"Bearer {call.secrets['agent key']}"}
    for name in ("keys", "tokens", "members", "invitations", "audit", "runs", "sessions", "traces", "whoami"):
        call("GET", f"/api/v1/{name}")
    run = call("GET", "/api/v1/runs", headers=by_key).json()["items"][0]
    for path in ("", "/events", "/outputs", "/tree", "/timeline"):
        call("GET", f"/api/v1/runs/{run['id']}{path}", headers=by_key)
    call("GET", f"/api/v1/sessions/{run['session']}/report")
    call("GET", f"/api/v1/sessions/{run['session']}/export")
    for app, models in STUDIO.items():
        for model in models:
            call("GET", f"/studio/{app}/{model}/")
    for path in ("/metrics", "/studio/", "/studio/health/", "/studio/more/"):
        call("GET", path)


def test_a_secret_stands_nowhere_but_where_it_has_to(tmp_path, house, settings):
    settings.CELERY_TASK_ALWAYS_EAGER = False
    house.alice.person.set_password(PASSWORD)
    house.alice.person.save(update_fields=["password"])
    desk = run_cast.Desk(
        agent=house.alice.actor, person=house.alice.actor, owner=house.alice.actor, viewer=house.alice.actor,
        stranger=house.charlie.actor,
    )  # fmt: skip
    published(desk, *plain_steps(1))
    environ = {
        **dict.fromkeys(("WORKRAIL_THROTTLE_ACTOR_PER_MINUTE", "WORKRAIL_THROTTLE_TEAM_PER_MINUTE"), "0"),
        "WORKRAIL_THROTTLE_SIGN_IN_PER_MINUTE": "0",
        "WORKRAIL_WEBHOOK_PRIVATE_HOSTS": "localhost",
        "WORKRAIL_PUBLIC_URL": PUBLIC,
        "WORKRAIL_METRICS_TOKEN": SERVERS["token of metrics"],
        "WORKRAIL_TOKEN_KEY": SERVERS["key of tokens"],
        "WORKRAIL_SEAL_KEY": SERVERS["key of seals"],
    }
    with running_site(tmp_path, environ) as site:
        alice = Person(site, house.alice)
        cookies = {**dict(alice.http.cookies), "csrftoken": CSRF}
        with httpx.Client(base_url=site.url, cookies=cookies, headers={"X-CSRFToken": CSRF}, timeout=30) as http:
            call = Canaries(http)
            with alice.http:
                secrets_of(call, site, alice)
            for secret in list(call.secrets.values()):
                send_everywhere(call, secret)
            begun = call("POST", "/api/v1/runs", json={"workflowId": "team.sample", "goal": "Try it"})
            assert begun.status_code == 201, begun.text
            jobs.ask_to_announce()
            waiting = everything_in_redis()
            assert "announce" in waiting
            with worker(tmp_path / "worker.log", {**environ_of_site(), **environ}):
                eventually(lambda: NoticeDelivery.objects.filter(tries__gte=1).exists(), "a notice that is not taken")
            look_around(call)
            sign_in(call)
        places = {
            "the log of the web server": site.logged(),
            "the log of the worker": (tmp_path / "worker.log").read_text(),
            "what waits in Redis": waiting,
            "what is left in Redis": everything_in_redis(),
        }
    assert len(call.secrets) >= 16
    assert "deliver" in places["the log of the worker"]
    found = {place: found for place, text in places.items() if (found := found_in(text, call.secrets))}
    for place, text in call.answers:
        # Whoever asks at an address that holds one is told the address.
        found |= {place: more} if (more := {*found_in(text, call.secrets)} - {*found_in(place, call.secrets)}) else {}
    assert not found, found
    rows = everything_kept().splitlines()
    kept = {(name, table_of(row)) for row in rows for name in found_in(row, call.secrets)}
    assert kept == KEPT
