from django.apps import AppConfig


class WorkflowsConfig(AppConfig):
    name = "workflows_app"
    verbose_name = "Workflows"
