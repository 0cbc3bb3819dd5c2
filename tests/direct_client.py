"""Django's test client on the way that the site answers calls by key; everything else goes to Django."""

from django.test.client import Client, ClientHandler

from workrail_site.rest_direct import RestDirect, direct_request


class _Handler(ClientHandler):
    def get_response(self, request):
        direct = direct_request(request.environ)
        if direct is None:
            return super().get_response(request)
        response = RestDirect(self).answer(direct)
        response.resolver_match = direct.resolver_match
        return response


class DirectClient(Client):
    def __init__(self, **options):
        super().__init__(**options)
        self.handler = _Handler(enforce_csrf_checks=False)
