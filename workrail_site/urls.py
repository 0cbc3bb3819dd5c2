from django.conf import settings
from django.urls import include, path
from django.views.generic import RedirectView
from rest_framework.views import APIView

from workflows_app.api import schemas
from workrail_site import health, metrics, openapi, signers, tools_rest
from workrail_site.studio import studio

# The OpenAPI document describes the endpoints. None of them answers OPTIONS, so none says in Allow that it does.
APIView.http_method_names = [name for name in APIView.http_method_names if name != "options"]

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("metrics", metrics.metrics),
    *([path("", include("workrail_site.oauth.urls"))] if settings.OAUTH else []),
    path(".well-known/workrail-signing-keys", signers.signing_keys),
    path("schemas/<str:name>.json", schemas.schema),
    path("api/v1/schema", openapi.schema, name="schema"),
    path("api/v1/docs", openapi.docs, name="docs"),
    path("api/v1/dialects/<str:dialect>/tools", tools_rest.ToolsView.as_view()),
    path("api/v1/dialects/<str:dialect>/tools/<str:tool>", tools_rest.ToolView.as_view()),
    path("api/v1/", include("teams_app.api.urls")),
    path("api/v1/", include("workflows_app.api.urls")),
    path("api/v1/", include("sessions_app.api.urls")),
    path("api/v1/", include("traces_app.api.urls")),
    path("studio/", studio.urls),
]

handler400 = "workrail_site.refusals.bad_request"
handler403 = "workrail_site.refusals.permission_denied"
handler404 = "workrail_site.refusals.not_found"
handler500 = "workrail_site.refusals.server_error"
