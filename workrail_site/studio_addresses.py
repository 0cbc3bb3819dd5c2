"""Where the Studio shows something, as an address that can be given to somebody."""

from uuid import UUID

from django.conf import settings
from django.urls import reverse


def question_address(request_id: UUID) -> str:
    return f"{settings.PUBLIC_URL}{reverse('admin:sessions_app_checkpointrequest_change', args=(request_id,))}"
