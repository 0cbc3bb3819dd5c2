"""An OpenID provider in the test's own process: real HTTP on the loopback, real keys, and every way to be wrong."""

import base64
import hashlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa

CLIENT_ID, CLIENT_SECRET = "workrail", "a secret of the provider's"


class OpenIdProvider:
    """`claims` are told of whoever signs in; the rest changes what is published, signed and answered."""

    def __init__(self):
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.claims, self.sent, self.is_down = {}, [], False
        self.published, self.header, self.algorithm, self.signs_with = {}, {"kid": "one"}, "RS256", None
        self.without, self.challenge = (), ""
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                provider._answer(self, {"/.well-known/openid-configuration": provider.document, "/keys": provider.keys})

            def do_POST(self):
                length = int(self.headers["Content-Length"])
                provider.sent.append(
                    {name: each[0] for name, each in parse_qs(self.rfile.read(length).decode()).items()}
                )
                provider._answer(self, {"/token": provider.tokens})

            def log_message(self, *_args):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def issuer(self):
        return f"http://127.0.0.1:{self._server.server_port}"

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _answer(self, handler, pages):
        page = pages.get(handler.path)
        status = 500 if self.is_down or page is None else 200
        body = b"{}" if status != 200 else json.dumps(page()).encode()
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def document(self):
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "end_session_endpoint": f"{self.issuer}/out",
            **self.published,
        }

    def keys(self):
        told = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
        return {"keys": [{**told, "kid": "one", "use": "sig", "alg": "RS256"}]}

    def tokens(self):
        verifier = self.sent[-1].get("code_verifier", "")
        proof = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        if proof != self.challenge:
            return {"error": "invalid_grant"}
        return {"access_token": "x", "token_type": "Bearer", "id_token": self.id_token()}

    def id_token(self):
        now = int(time.time())
        whole = {"iss": self.issuer, "aud": CLIENT_ID, "iat": now, "exp": now + 300, "sub": "subject-1", **self.claims}
        claims = {name: value for name, value in whole.items() if name not in self.without}
        key = "" if self.algorithm == "none" else self.signs_with or self.key
        return jwt.encode(claims, key, algorithm=self.algorithm, headers=self.header)


def another_rsa_key():
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def elliptic_key():
    return ec.generate_private_key(ec.SECP256R1())
