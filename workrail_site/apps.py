from django.apps import AppConfig


class SiteConfig(AppConfig):
    name = "workrail_site"
    verbose_name = "Workrail"
