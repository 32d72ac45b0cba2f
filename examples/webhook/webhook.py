"""An admission webhook of one file for claims: it notes who made one, and refuses large ones.

Run it with a certificate for the address that the configurations name:

    python webhook.py --cert tls.crt --key tls.key --port 9443
"""

import argparse
import base64
import json
import ssl
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Doc = dict[str, Any]

MADE_BY = "claims.example.com/made-by"
MOST_GIBIBYTES = 100
UNITS = {"m": 1e-3, "": 1.0} | {
    f"{letter}{i}": float(base**power)
    for base, i, letters in ((1000, "", "kMGTPE"), (1024, "i", "KMGTPE"))
    for power, letter in enumerate(letters, 1)
}


def mutate(request: Doc) -> Doc:
    """Note the user, whatever the claim says itself."""
    annotations = dict(request["object"]["metadata"].get("annotations") or {})
    annotations[MADE_BY] = request["userInfo"]["username"]
    # `add` also replaces, and works on a claim that has no annotations at all
    patch = [{"op": "add", "path": "/metadata/annotations", "value": annotations}]
    encoded = base64.b64encode(json.dumps(patch).encode()).decode()
    return {"allowed": True, "patchType": "JSONPatch", "patch": encoded}


def validate(request: Doc) -> Doc:
    asked = gibibytes(request["object"]["spec"]["resources"]["requests"]["storage"])
    if asked > MOST_GIBIBYTES:
        message = f"{asked:g} Gi are too much: more than {MOST_GIBIBYTES} Gi are ordered by mail"
        return {
            "allowed": False,
            "status": {"code": 403, "reason": "Forbidden", "message": message},
        }
    if asked > MOST_GIBIBYTES / 2:
        return {"allowed": True, "warnings": [f"it can grow to {MOST_GIBIBYTES} Gi at most"]}
    return {"allowed": True}


def gibibytes(quantity: str) -> float:
    """Of 5Gi, 5G, 5e9 or 5368709120. Raises: KeyError, ValueError."""
    number = quantity.rstrip("kKMGTPEim")
    return float(number) * UNITS[quantity[len(number) :]] / UNITS["Gi"]


ANSWERS = {"/mutate": mutate, "/validate": validate}


class Webhook(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        request = review["request"]
        try:
            answer = ANSWERS[self.path.partition("?")[0]](request)
        except (KeyError, ValueError) as error:
            answer = {"allowed": False, "status": {"code": 400, "message": f"no claim: {error!r}"}}
        review = {
            "apiVersion": review["apiVersion"],
            "kind": review["kind"],
            "response": {"uid": request["uid"], **answer},
        }
        body = json.dumps(review).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Requests are not told."""


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--cert", required=True)
    options.add_argument("--key", required=True)
    options.add_argument("--port", type=int, default=9443)
    given = options.parse_args()
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(given.cert, given.key)
    server = ThreadingHTTPServer(("127.0.0.1", given.port), Webhook)
    # Handshakes are for the thread of each connection: one that hangs is nobody else's matter.
    server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    sys.stdout.write(f"admitting at https://127.0.0.1:{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
