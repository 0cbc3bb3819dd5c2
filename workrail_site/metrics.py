"""Numbers for Prometheus, to be read from this machine or with the token of the settings."""

from hmac import compare_digest
from ipaddress import ip_address

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from teams_app.engine.errors import ForbiddenError
from workrail_site import product_metrics
from workrail_site.refusals import problem_response

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

_requests = Counter("workrail_http_requests", "HTTP requests", ["method", "route", "status"])
_seconds = Histogram("workrail_http_request_seconds", "Time to answer a request", ["method", "route"])


def count_request(*, method: str, route: str, status: int, seconds: float) -> None:
    # A method is the client's to invent; a label is not.
    known = method if method in _METHODS else "other"
    _requests.labels(known, route, str(status)).inc()
    _seconds.labels(known, route).observe(seconds)


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    if not _may_read(request):
        error = ForbiddenError(
            "Metrics are read from this machine or with their token.",
            suggestion="Set WORKRAIL_METRICS_TOKEN and send it as a bearer token.",
        )
        return problem_response(request=request, error=error)
    told = generate_latest(_registry()) + generate_latest(product_metrics.registry)
    return HttpResponse(told, content_type=CONTENT_TYPE_LATEST)


def _registry() -> CollectorRegistry:
    """With several processes each writes files of its own, and whoever is asked adds them up."""
    if not settings.METRICS_DIRECTORY:
        return REGISTRY
    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=settings.METRICS_DIRECTORY)  # type: ignore[no-untyped-call]  # the library's own
    return registry


def _may_read(request: HttpRequest) -> bool:
    if settings.METRICS_TOKEN:
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        return compare_digest(given.encode(), settings.METRICS_TOKEN.encode())
    return _is_this_machine(request)


def _is_this_machine(request: HttpRequest) -> bool:
    # What a proxy on this machine passes on comes from elsewhere.
    if "X-Forwarded-For" in request.headers or "Forwarded" in request.headers:
        return False
    try:
        return ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False
