from django.apps import AppConfig


class SiteConfig(AppConfig):
    name = "workrail_site"
    verbose_name = "Workrail"

    def ready(self) -> None:
        """Every process that asks for a task needs our Celery: without it `signature` would ask a broker of its own."""
        from workrail_site.celery import app  # noqa: PLC0415  tasks import models, and these are there only now

        if app.conf.task_always_eager:
            # Whoever runs the tasks in place must have them.
            app.autodiscover_tasks(force=True)
