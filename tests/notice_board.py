"""A server of somebody else that takes notices: HTTPS on this machine, with a certificate that the test trusts."""

import json
import socket
import ssl
import threading
from datetime import UTC, datetime, timedelta

from teams_app.engine.actors import Door, system_actor
from teams_app.engine.fail_points import go_on
from teams_app.models import NoticeDelivery
from teams_app.services import deliveries

OK = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"


class NoticeBoard:
    """Keeps what it was sent; `reply` is what it answers, None for nothing at all."""

    def __init__(self, folder, *, names=("localhost",)):
        self.received, self.connections, self.reply = [], 0, OK
        self.certificate = folder / "certificate.pem"
        self.certificate.write_bytes(_certificate(names))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate)
        self._context = context
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._silent = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def url(self):
        return f"https://localhost:{self._listening.getsockname()[1]}/hooks/a?b=c"

    @property
    def bodies(self):
        return [json.loads(body) for _, _, body in self.received]

    def close(self):
        self._silent.set()
        with socket.create_connection(self._listening.getsockname()):
            self._thread.join()
        self._listening.close()

    def _serve(self):
        while True:
            raw, _ = self._listening.accept()
            if self._silent.is_set():
                raw.close()
                return
            self.connections += 1
            try:
                with raw, self._context.wrap_socket(raw, server_side=True) as secured:
                    self.received.append(_read(secured))
                    if self.reply is None:
                        self._silent.wait(10)
                    else:
                        secured.sendall(self.reply)
            except OSError:
                continue


def deliver_all(*, clock, fail=go_on):
    """What the tasks come to that the schedule asks for: one of each team that has something due."""
    due = NoticeDelivery.objects.filter(next_try_at__lte=clock()).order_by("team_id")
    return sum(
        deliveries.deliver_due(actor=system_actor(team_id=team_id, door=Door.TASK), clock=clock, fail=fail)
        for team_id in list(due.values_list("team_id", flat=True).distinct())
    )


def _read(secured):
    heard = b""
    while b"\r\n\r\n" not in heard:
        heard += secured.recv(4096)
    head, _, body = heard.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    while len(body) < int(headers.get("Content-Length", 0)):
        body += secured.recv(4096)
    return first, headers, body


def _certificate(names):
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
    now = datetime.now(tz=UTC)
    builder = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(each) for each in names]), critical=False)
    )
    made = builder.sign(key, hashes.SHA256())
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return private + made.public_bytes(serialization.Encoding.PEM)
