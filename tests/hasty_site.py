"""The site, which gives up after a second what nobody takes."""

from importlib import import_module

from workrail_site import wsgi_in_asgi

wsgi_in_asgi.TAKEN_WITHIN_SECONDS = 1.0
application = import_module("workrail_site.asgi").application
