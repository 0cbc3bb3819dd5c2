"""What nobody can sign on with any more is deleted: tokens and codes past their time, and clients that came to nothing."""

from datetime import datetime, timedelta

from oauth2_provider.models import clear_expired, get_application_model

# A client that registered, and that nobody connected or that nobody has used since.
UNUSED = timedelta(days=30)


def forget_ended(*, now: datetime) -> int:
    """Safe to run twice. Returns how many clients were forgotten."""
    clear_expired()
    model = get_application_model()
    of_strangers = [model.RegistrationSource.DCR, model.RegistrationSource.CIMD]
    unused = model.objects.filter(registration_source__in=of_strangers, updated__lt=now - UNUSED)
    unused = unused.filter(refreshtoken__isnull=True, accesstoken__isnull=True, grant__isnull=True)
    _rows, counted = unused.delete()
    return int(counted.get(model._meta.label, 0))  # noqa: SLF001  the name of a model, as Django publishes it
