#!/usr/bin/env python3
"""Checks an export of countersign's log without countersign: verify_log.py FILE [KEY]"""
import hashlib, json, sys

P = 2**255 - 19  # Ed25519 (RFC 8032)
D = -121665 * pow(121666, -1, P) % P
def add(a, b):
    k = D * a[0] * b[0] * a[1] * b[1] % P
    return ((a[0] * b[1] + b[0] * a[1]) * pow(1 + k, -1, P) % P, (a[1] * b[1] + a[0] * b[0]) * pow(1 - k, -1, P) % P)
def times(point, n):
    result = (0, 1)
    while n:
        result, point, n = add(result, point) if n & 1 else result, add(point, point), n >> 1
    return result
def point(data):
    y, sign = int.from_bytes(data, "little") & (1 << 255) - 1, data[31] >> 7
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if x * x % P == square else x * pow(2, (P - 1) // 4, P) % P
    assert x * x % P == square, "no point"
    return (x if x & 1 == sign else P - x, y)
BASE = point((4 * pow(5, -1, P) % P).to_bytes(32, "little"))
def signed(key, message, signature):
    h = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little")
    return times(BASE, int.from_bytes(signature[32:], "little")) == add(point(signature[:32]), times(point(key), h))
def fields(*values):
    return b"".join(b"%d:%s," % (len(v), v) for v in (str(value).encode() for value in values))
def read(line, *names):  # exactly these fields, written exactly so
    row = json.loads(line)
    assert list(row) == list(names) and json.dumps(row, separators=(",", ":"), ensure_ascii=False) == line, line
    return row

text = open(sys.argv[1], encoding="utf-8", newline="").read()
assert text.endswith("\n"), "the last line is cut off"
first, *lines = text[:-1].split("\n")
head = read(first, "format", "store", "forgotten", "origin", "count", "head")
seq, last, covered, forgot = head["forgotten"], head["origin"], None, 0
start = hashlib.sha256(fields("countersign log 1", head["store"])).hexdigest()
assert head["format"] == "countersign log 1" and (seq or last == start), "the header was changed"
for line in lines:
    if line.startswith('{"seq":'):
        row = read(line, "seq", "at", "kind", "ask", "data", "hash")
        assert row["seq"] == seq + 1, f"row {seq + 1} is missing"
        content = fields(last, row["seq"], row["at"], row["kind"], row["ask"] or "", row["data"])
        seq, last = row["seq"], row["hash"]
        assert hashlib.sha256(content).hexdigest() == last, f"row {seq} was changed"
        data = json.loads(row["data"]) if row["kind"] in ("forgot", "log_broken", "log_key") else {}
        assert row["kind"] != "log_broken", f"row {seq}: a daemon found the log broken: {data['says']}"
        if row["kind"] == "forgot":
            assert row["at"] - data["newest"] >= data["keep_ms"] >= 3600000, f"row {seq}: what was forgotten was not old enough"
            forgot = max(forgot, data["rows"])
        joined = row["kind"] == "log_key" and data["how"] == "joined" and sys.argv[2:]
        assert not joined or data["key"] in sys.argv[2:], f"row {seq}: another key signs this log: {data['key']}"
    else:
        row = read(line, "checkpoint", "head", "at", "key", "signature")
        assert (row["checkpoint"], row["head"]) == (seq, last) and covered != seq, f"the checkpoint of row {seq} does not fit"
        message = fields("countersign checkpoint 1", head["store"], seq, last, row["at"])
        assert signed(bytes.fromhex(row["key"]), message, bytes.fromhex(row["signature"])), f"the checkpoint of row {seq} is not signed"
        assert row["key"] in sys.argv[2:] or not sys.argv[2:], f"the checkpoint of row {seq} was signed by another key"
        assert bytes.fromhex(row["key"] + row["signature"]).hex() == row["key"] + row["signature"], line
        covered = seq
assert (seq, last, covered) == (head["count"], head["head"], seq), f"the log ends behind row {seq}, not {head['count']}"
assert forgot >= head["forgotten"], f"the first {head['forgotten']} rows are gone, and no row says that they were forgotten"
print(f"Proven: rows {head['forgotten'] + 1} to {seq}, head {seq}:{last}")
