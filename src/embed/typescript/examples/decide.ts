import { execFileSync } from "node:child_process";
import { Client, newCall, textForModel } from "countersign";

const call = newCall({
  agent: "deployer",
  session: "nightly",
  tool: "shell_exec",
  args: { command: "make deploy" },
  reason: "the release is tagged",
});
const decision = await new Client().decide(call);
if (decision.kind === "approved") {
  execFileSync("bash", ["-c", "make deploy"]);
} else if (decision.kind === "denied") {
  console.log(`not deployed: ${textForModel(decision)}`);
}
