from django.urls import path

from workrail_site import health

urlpatterns = [
    path("healthz", health.healthz),
    path("readyz", health.readyz),
]
