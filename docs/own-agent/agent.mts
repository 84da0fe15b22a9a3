// The same in TypeScript, without a package; URL and TOKEN name the daemon and the agent token.

import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";

const { URL: url, TOKEN: token } = process.env;
const command = process.argv[2] ?? "";
const call = {
  agent: "my-agent",
  session: "one",
  tool: "shell_exec",
  args: { command },
  cwd: process.cwd(),
  key: randomUUID(),
};

async function decide(): Promise<{ allowed: boolean; why: string }> {
  let awaySince = Date.now();
  while (Date.now() - awaySince < 60_000) {
    let text = "";
    try {
      const response = await fetch(`${url}/v1/calls?wait=60`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify(call),
        redirect: "manual",
        signal: AbortSignal.timeout(75_000),
      });
      text = await response.text();
      if (!response.ok) return { allowed: false, why: text };
    } catch {
      // The daemon is away: it may come back, and knows the key.
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      continue;
    }
    let reply: any;
    try {
      reply = JSON.parse(text);
    } catch {
      return { allowed: false, why: "the reply is no JSON" };
    }
    // Only this one word lets the command run.
    if (reply?.verdict !== "ask") return { allowed: reply?.verdict === "allow", why: text };
    // Nobody has answered yet. The same key waits for the same ask.
    awaySince = Date.now();
  }
  return { allowed: false, why: "no daemon answers" };
}

const { allowed, why } = await decide();
if (!allowed) {
  console.error(`not run: ${why}`);
  process.exit(1);
}
execFileSync("bash", ["-c", command], { stdio: "inherit" });
