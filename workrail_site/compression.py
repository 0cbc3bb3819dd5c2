"""Pages of the Studio are compressed. Django masks the length of each answer and the CSRF token in it, which closes BREACH.

Answers to programs are not: an agent waits for them, and they are small.
"""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware

_STUDIO = "/studio/"


class StudioCompression(GZipMiddleware):
    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if not request.path.startswith(_STUDIO):
            return response
        return super().process_response(request, response)
