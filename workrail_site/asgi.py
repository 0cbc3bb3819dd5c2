"""One address: MCP on its own ASGI application, everything else on Django's WSGI handler in threads."""

from a2wsgi import WSGIMiddleware

from workrail_site.wsgi import application as django_application

application = WSGIMiddleware(django_application)
