import { Client, newCall } from "countersign";

const order = process.argv[2] ?? "";
const call = newCall({
  agent: "billing",
  session: `order-${order}`,
  tool: "refund",
  args: { order },
  key: `refund-${order}`,
});
const decision = await new Client().wait(call, { atMost: 3_600_000 });
if (decision.kind === "approved") console.log("refunded");
else if (decision.kind === "open") console.log(`${decision.ask} still waits; run this again`);
else console.log(`not refunded: ${decision.reason}`);
