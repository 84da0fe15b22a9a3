import { answerText, Client } from "countersign";

const region = {
  question: "Which region?",
  options: [{ label: "eu-central" }, { label: "us-east" }],
};
const from = { agent: "deployer", session: "nightly" };
const decision = await new Client().question(from, [region]);
if (decision.kind === "answered") console.log(answerText(decision, region.question));
else console.log(`no answer: ${decision.reason}`);
