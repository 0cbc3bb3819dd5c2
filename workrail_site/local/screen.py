"""What `up` says when everything runs: where to go, what to keep, what to try."""

from teams_app.engine.client_kit import ClientName, setup_for
from workrail_site.local.outcome import CommandOutcome

MCP_PATH = "/mcp/rail"
_SHOWN = (ClientName.CLAUDE_CODE, ClientName.CURSOR)


def first_screen(outcome: CommandOutcome, *, url: str) -> str:
    return "\n".join(
        [
            "",
            "  Workrail is running. This account and this key are shown once: keep them.",
            "",
            f"  Studio     {url}{outcome.studio_path}",
            f"  Account    {outcome.username}",
            f"  Password   {outcome.password}",
            f"  Agent key  {outcome.key}",
            "",
            *_clients(url, outcome.key),
            "",
            f"  Next       curl -H 'Authorization: Bearer {outcome.key}' {url}/api/v1/whoami",
            "  Demo       ./workrail demo makes a team with two weeks of work to look at",
            "  Stop       Ctrl-C",
            "",
        ]
    )


def later_screen(outcome: CommandOutcome, *, url: str) -> str:
    return "\n".join(
        [
            "",
            "  Workrail is running.",
            "",
            f"  Studio     {url}{outcome.studio_path}",
            f"  MCP        {url}{MCP_PATH}   (agent keys are made in the Studio)",
            f"  Account    {outcome.username}   (a new password: ./workrail members reset {outcome.username})",
            "  Stop       Ctrl-C",
            "",
        ]
    )


def secrets_only(outcome: CommandOutcome) -> str:
    """For a first run that fails after the account was made: what was made is not shown again."""
    return (
        "  The account and the key were made before this went wrong. They are shown once: keep them.\n"
        f"  Account    {outcome.username}\n  Password   {outcome.password}\n  Agent key  {outcome.key}"
    )


def _clients(url: str, key: str) -> list[str]:
    shown = [setup_for(client=client, url=url + MCP_PATH, key=key) for client in _SHOWN]
    lines = [
        [f"  {setup.label}. {setup.place}", *(f"    {line}" for line in setup.text.splitlines())] for setup in shown
    ]
    return [line for block in lines for line in block] + ["  Others     ./workrail connect CLIENT"]
