"""The same in Python, without a package; URL and TOKEN name the daemon and the agent token."""

import json
import os
import secrets
import subprocess
import sys
import time
import urllib.error
import urllib.request

command = sys.argv[1]
call = {
    "agent": "my-agent",
    "session": "one",
    "tool": "shell_exec",
    "args": {"command": command},
    "cwd": os.getcwd(),
    "key": secrets.token_hex(16),
}
request = urllib.request.Request(
    f"{os.environ['URL']}/v1/calls?wait=60",
    json.dumps(call).encode(),
    {"Authorization": f"Bearer {os.environ['TOKEN']}", "Content-Type": "application/json"},
)
# No proxy of the environment sees the token.
direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def decide() -> tuple[bool, str]:
    """Whether the command may run, and why."""
    away_since = time.monotonic()
    while time.monotonic() - away_since < 60:
        try:
            with direct.open(request, timeout=75) as response:
                reply = json.load(response)
        except urllib.error.HTTPError as refused:
            return False, refused.read().decode(errors="replace")
        except ValueError:
            return False, "the reply is no JSON"
        except OSError:
            # The daemon is away: it may come back, and knows the key.
            time.sleep(1)
            continue
        verdict = reply.get("verdict") if isinstance(reply, dict) else None
        if verdict != "ask":
            # Only this one word lets the command run.
            return verdict == "allow", str(reply)
        # Nobody has answered yet. The same key waits for the same ask.
        away_since = time.monotonic()
    return False, "no daemon answers"


allowed, why = decide()
if not allowed:
    sys.exit(f"not run: {why}")
subprocess.run(["bash", "-c", command], check=True)
