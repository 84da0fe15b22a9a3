"""Proofs of a token that do not contain it, for connections without TLS.

As in SCRAM (RFC 5802): the daemon gives a nonce, and the client sends its token masked with HMACs
over the nonce and its request, keyed by the token's hash. `src/tokens/proof.rs` is the other side.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass

REPLY = "x-countersign-proof"
"""The reply header with the daemon's own proof."""

SCHEME = "Countersign "
"""The scheme of the `Authorization` header: `Countersign NONCE:MASKED`."""


@dataclass(frozen=True)
class ProvenRequest:
    """The request that a proof covers; the proof is valid for no other."""

    nonce: str
    method: str
    target: str
    body: bytes

    def mask(self, token: str) -> str:
        """The masked token."""
        key, about, text = _hash(token), self._about(), token.encode()
        masked = bytearray()
        # Each block has a mask of its own: one mask would cancel out between the blocks.
        for count, start in enumerate(range(0, len(text), 32)):
            mask = _hmac(key, f"mask {count}\n{about}")
            block = text[start : start + 32]
            masked += bytes(byte ^ other for byte, other in zip(block, mask, strict=False))
        return _base64(bytes(masked))

    def reply(self, token: str, status: int, body: bytes) -> str:
        """The proof that a reply comes from a daemon that knows the token."""
        digest = _base64(hashlib.sha256(body).digest())
        return _base64(_hmac(_hash(token), f"reply {status}\n{digest}\n{self._about()}"))

    def _about(self) -> str:
        digest = _base64(hashlib.sha256(self.body).digest())
        return f"{self.nonce}\n{self.method}\n{self.target}\n{digest}"


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def _hash(token: str) -> bytes:
    return f"sha256:{hashlib.sha256(token.encode()).hexdigest()}".encode()
