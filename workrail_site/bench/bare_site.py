"""What the door of MCP is held against: bare views, served as the site is, by the same server in threads that parties share."""

import django
from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpRequest
from django.test.utils import override_settings
from django.urls import ResolverMatch

from workrail_site.parties import Parties
from workrail_site.wsgi_in_asgi import WsgiInAsgi

# The line in the log and the metrics are this one's.
_MIDDLEWARE = ["workrail_site.request_context.RequestContext"]
_VIEWS = "workrail_site.bench.bare_views"


class BareHandler(WSGIHandler):
    """Django's own, with these addresses and without what pages need."""

    def load_middleware(self, is_async: bool = False) -> None:  # noqa: FBT001, FBT002  Django's signature
        with override_settings(MIDDLEWARE=_MIDDLEWARE):
            super().load_middleware(is_async)

    def resolve_request(self, request: HttpRequest) -> ResolverMatch:
        request.urlconf = _VIEWS
        return super().resolve_request(request)


django.setup(set_prefix=False)
application = WsgiInAsgi(
    BareHandler(), threads=settings.WEB_THREADS, max_body_bytes=settings.MAX_BODY_BYTES, parties=Parties()
)
