"""A conversion webhook of one file: a Crate has a size of "3x4" in v1, a width and a height in v2.

Run it with a certificate for the address that the definition names:

    python webhook.py --cert tls.crt --key tls.key --port 9443
"""

import argparse
import json
import ssl
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Doc = dict[str, Any]


def convert(crate: Doc, wanted: str) -> Doc:
    """The same crate in another version; its metadata goes along as it is."""
    spec = dict(crate.get("spec", {}))
    if wanted.endswith("/v2"):
        spec["width"], spec["height"] = map(int, spec.pop("size").split("x"))
    else:
        spec["size"] = f"{spec.pop('width')}x{spec.pop('height')}"
    return {**crate, "apiVersion": wanted, "spec": spec}


def answer(request: Doc) -> Doc:
    response: Doc
    try:
        crates = [convert(each, request["desiredAPIVersion"]) for each in request["objects"]]
        response = {"convertedObjects": crates, "result": {"status": "Success"}}
    except (KeyError, ValueError) as error:
        response = {"result": {"status": "Failed", "message": f"no crate: {error!r}"}}
    return {"uid": request["uid"], **response}


class Webhook(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps(
            {
                "apiVersion": review["apiVersion"],
                "kind": review["kind"],
                "response": answer(review["request"]),
            }
        ).encode()
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
    server.socket = tls.wrap_socket(server.socket, server_side=True)
    sys.stdout.write(f"converting at https://127.0.0.1:{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
