from django.apps import AppConfig


class TeamsConfig(AppConfig):
    name = "teams_app"
    verbose_name = "Teams"
