from celery.signals import worker_process_shutdown
from django.apps import AppConfig


class TracesConfig(AppConfig):
    name = "traces_app"
    verbose_name = "Traces"

    def ready(self) -> None:
        """A process of a Celery worker leaves without `atexit`."""
        from traces_app.services.recording import close_recorder  # noqa: PLC0415  it imports models, which are there only now

        worker_process_shutdown.connect(lambda **_details: close_recorder(), weak=False)
