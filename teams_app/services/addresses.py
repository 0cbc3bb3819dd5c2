"""Where a one-time link is opened: the page of the Studio, under the server's own address when it knows one."""

from django.conf import settings
from django.urls import reverse


def join_address(link: str) -> str:
    return f"{settings.PUBLIC_URL}{reverse('admin:join', args=(link,))}"


def reset_address(link: str) -> str:
    return f"{settings.PUBLIC_URL}{reverse('admin:reset_password', args=(link,))}"
