# The application alone: PostgreSQL and Redis are servers of their own here, so no binaries of theirs are inside.

FROM python:3.13.5-slim-bookworm AS packages
WORKDIR /build
COPY locks/core.txt .
RUN python -m venv /opt/venv && \
    /opt/venv/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes --only-binary :all: -r core.txt

FROM python:3.13.5-slim-bookworm
ENV PATH=/opt/venv/bin:$PATH PYTHONPATH=/app PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    DJANGO_SETTINGS_MODULE=workrail_site.settings
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin workrail && \
    install --directory --owner 10001 /var/lib/workrail
COPY --from=packages /opt/venv /opt/venv
WORKDIR /app
COPY . .
# The settings of production refuse to load without secrets. These are made up for one command and kept nowhere.
RUN WORKRAIL_ENV=production WORKRAIL_ALLOWED_HOSTS=localhost DATABASE_URL=postgresql://none/none REDIS_URL=redis://none \
    WORKRAIL_SECRET_KEY=$(python -c "import secrets; print(secrets.token_urlsafe(48))") \
    WORKRAIL_TOKEN_KEY=$(python -c "import base64, os; print(base64.urlsafe_b64encode(os.urandom(32)).decode())") \
    python manage.py collectstatic --no-input && \
    python -m compileall -q /app
USER 10001
EXPOSE 8000
CMD ["granian", "--interface", "asgi", "--no-ws", "--http", "1", "--backpressure", "4096", "--http1-buffer-size", "131072", \
     "--workers-kill-timeout", "25", "--log-level", "warning", "--host", "0.0.0.0", "workrail_site.asgi:application"]
