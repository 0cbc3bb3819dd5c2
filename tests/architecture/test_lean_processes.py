"""A process carries what it needs: only who serves MCP, or writes down its contracts, loads the SDK of it."""

import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
PROCESSES = {
    "worker and beat": "from workrail_site.celery import app; app.loader.import_default_modules()",
    "a command": "import django; django.setup(); import workrail_site.urls, workrail_site.demo.play",
}
_TELL = "import sys; print(sorted({'mcp', 'mcp_server', 'starlette'} & set(sys.modules)))"


@pytest.mark.parametrize("begins", PROCESSES.values(), ids=PROCESSES)
def test_a_process_without_mcp_does_not_load_the_sdk(begins):
    assert loaded(begins) == "[]"


def test_the_web_server_does():
    assert loaded("import workrail_site.asgi") == "['mcp', 'mcp_server', 'starlette']"


def loaded(begins):
    program = f"import os; os.environ['DJANGO_SETTINGS_MODULE'] = 'workrail_site.settings'; {begins}; {_TELL}"
    done = subprocess.run([sys.executable, "-c", program], cwd=_ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("begins", [*PROCESSES.values(), "import workrail_site.asgi"])
def test_where_nobody_signs_on_the_libraries_of_it_are_not_loaded(begins):
    heavy = "print(sorted({'oauth2_provider', 'oauthlib', 'jwcrypto', 'mozilla_django_oidc'} & set(sys.modules)))"
    without = "os.environ['WORKRAIL_OAUTH'] = 'false'; os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'workrail_site.settings')"
    program = f"import os, sys; {without}; {begins}; {heavy}"
    done = subprocess.run([sys.executable, "-c", program], cwd=_ROOT, capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
