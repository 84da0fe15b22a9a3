import asyncio
import json
import tempfile
import unittest
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

from countersign import Approved, Client, ClientSettings, Refused, Unreadable
from countersign.places import Places
from countersign.proof import ProvenRequest
from countersign.settings import HttpServer

from .fake import FakeDaemon, Reply, Request, call

TOKEN = "the-token-of-the-tests, longer than one block of thirty-two bytes"
NONCE = "abcdefghijklmnop.1.x-_"


class Proofs(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    @asynccontextmanager
    async def served(self, handler, token: str | None = TOKEN):
        fake = FakeDaemon(handler)
        server = await asyncio.start_server(fake.serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        at = (HttpServer(urlsplit(f"http://127.0.0.1:{port}/base/")),)
        places = Places(self.folder, self.folder, self.folder, None)
        try:
            yield fake, Client(ClientSettings(at, places, token), outage=0.0)
        finally:
            server.close()

    def proven(self, request: Request, body: bytes, status: int = 200) -> Reply:
        about = ProvenRequest(NONCE, request.method, request.target, request.body)
        assert request.headers["authorization"] == f"Countersign {NONCE}:{about.mask(TOKEN)}"
        return status, body, {"x-countersign-proof": about.reply(TOKEN, status, body)}

    async def test_the_token_is_proved_and_never_sent(self) -> None:
        def reply(request: Request) -> Reply:
            if request.target == "/base/v1/nonce":
                return 200, {"nonce": NONCE}
            return self.proven(request, b'{"verdict": "allow"}')

        async with self.served(reply) as (fake, client):
            self.assertIsInstance(await client.decide(call()), Approved)
            self.assertEqual(fake.targets, ["GET /base/v1/nonce", "POST /base/v1/calls?wait=1"])
            self.assertNotIn(TOKEN[:12], str([vars(request) for request in fake.requests]))

    async def test_a_reply_without_the_right_proof_is_of_a_stranger(self) -> None:
        allow = b'{"verdict": "allow"}'
        for odd in [
            lambda request: (200, allow),
            lambda request: (200, allow, {"x-countersign-proof": "wrong"}),
            lambda request: (200, allow, self.proven(request, b'{"verdict": "deny"}')[2]),
            lambda request: (200, allow, self.proven(request, allow, 202)[2]),
            lambda request: (404, {"error": "no"}),
        ]:

            def reply(request: Request, odd=odd) -> Reply:
                nonce = request.target.endswith("nonce")
                return (200, {"nonce": NONCE}) if nonce else odd(request)

            async with self.served(reply) as (_, client):
                with self.assertRaisesRegex(Unreadable, "another program in the daemon's place"):
                    await client.decide(call())

    async def test_a_refusal_needs_no_proof(self) -> None:
        def reply(request: Request) -> Reply:
            nonce = request.target.endswith("nonce")
            return (200, {"nonce": NONCE}) if nonce else (401, {"error": "wrong token"})

        async with self.served(reply) as (_, client):
            with self.assertRaisesRegex(Refused, "^wrong token$"):
                await client.decide(call())

    async def test_an_odd_nonce_is_never_used(self) -> None:
        for nonce in ["", "short", "a" * 201, "abcdefghijklmnop\nX: y", 5, None, ["a" * 20]]:
            async with self.served(lambda _, n=nonce: (200, {"nonce": n})) as (fake, client):
                with self.subTest(nonce=nonce), self.assertRaisesRegex(Unreadable, "no nonce"):
                    await client.decide(call())
                self.assertEqual(len(fake.requests), 1)

    async def test_http_without_a_token_says_what_to_set(self) -> None:
        async with self.served(lambda _: (200, {"verdict": "allow"}), None) as (fake, client):
            with self.assertRaisesRegex(Refused, r"wants a token; set \[client\] token"):
                await client.decide(call())
            self.assertEqual(fake.requests, [])

    def test_the_mask_is_that_of_the_daemon(self) -> None:
        # As `src/tokens/proof.rs` computes it; the live tests hold both to it, too.
        about = ProvenRequest("n", "POST", "/v1/calls?wait=1", json.dumps({}).encode())
        self.assertEqual(about.mask("the-token"), "HGfaMwaV0JA3")
        self.assertEqual(
            about.reply("the-token", 200, b"{}"), "d39r-Z1wwTqsrQ1XESVnAcqMQYQX6OPaW30IkhC_0qQ"
        )
