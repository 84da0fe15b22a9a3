"""As much of websocket-client's API as the documentation's sample uses, for machines without it."""
import base64
import os
import socket
import struct
from urllib.parse import urlsplit


class WebSocketException(Exception):
    pass


class WebSocketBadStatusException(WebSocketException):
    pass


class WebSocketConnectionClosedException(WebSocketException):
    pass


def create_connection(url, header=()):
    at = urlsplit(url)
    sock = socket.create_connection((at.hostname, at.port))
    key = base64.b64encode(os.urandom(16)).decode()
    lines = [
        f"GET {at.path}?{at.query} HTTP/1.1", f"Host: {at.netloc}", "Upgrade: websocket",
        "Connection: Upgrade", f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13", *header, "", "",
    ]
    sock.sendall("\r\n".join(lines).encode())
    head = b""
    while b"\r\n\r\n" not in head:
        part = sock.recv(1)
        if not part:
            raise WebSocketConnectionClosedException("the handshake was cut off")
        head += part
    status = head.split(b" ", 2)[1]
    if status != b"101":
        raise WebSocketBadStatusException(f"Handshake status {status.decode()}")
    return Connection(sock)


class Connection:
    def __init__(self, sock):
        self.sock = sock

    def send(self, text):
        data, mask = text.encode(), os.urandom(4)
        size = struct.pack("!BBH", 0x81, 0x80 | 126, len(data))
        self.sock.sendall(size + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data)))

    def recv(self):
        while True:
            first, length = self.take(2)
            length &= 0x7F
            if length == 126:
                (length,) = struct.unpack("!H", self.take(2))
            elif length == 127:
                (length,) = struct.unpack("!Q", self.take(8))
            data = self.take(length)
            if first & 0x0F == 1:
                return data.decode()
            if first & 0x0F == 8:
                raise WebSocketConnectionClosedException("closed")

    def take(self, count):
        data = b""
        while len(data) < count:
            part = self.sock.recv(count - len(data))
            if not part:
                raise WebSocketConnectionClosedException("cut off")
            data += part
        return data
