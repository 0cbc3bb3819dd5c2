"""The JSON Schemas of workflows. Editors fetch them without an account: they say what the documentation says."""

from django.http import Http404, HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from workflows_app.engine.json_schemas import SCHEMAS

MAX_AGE_SECONDS = 3_600


@require_safe
def schema(_request: HttpRequest, name: str) -> JsonResponse:
    if name not in SCHEMAS:
        raise Http404(f"The schemas are {', '.join(SCHEMAS)}.")
    response = JsonResponse(SCHEMAS[name](), content_type="application/schema+json")
    response["Cache-Control"] = f"public, max-age={MAX_AGE_SECONDS}"
    return response
