"""Tasks of the site itself. They are scheduled where what they look after is in use: `workrail_site.celery`."""

from celery import shared_task
from django.utils import timezone


@shared_task(name="workrail_site.tasks.forget_ended_sign_ons", ignore_result=True)
def forget_ended_sign_ons() -> int:
    from workrail_site.oauth.upkeep import forget_ended  # noqa: PLC0415  its library is there only when it is asked for

    return forget_ended(now=timezone.now())
