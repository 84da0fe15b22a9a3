// The JSON of the HTTP API. Made by src/embed/wire.py from docs/openapi.json; do not edit.

/** One option of a question. */
export interface Choice {
  /** What is answered when it is chosen. */
  label: string;
  /** What it means. */
  description?: string | null;
  /** A longer picture of it. */
  preview?: string | null;
}

/** One question. The names are those of Claude Code's AskUserQuestion; `text` is taken for
 * `question`. */
export interface Question {
  /** The whole question; the key of its answer. */
  question: string;
  /** A short heading. */
  header?: string | null;
  /** Whether several options may be chosen. */
  multiSelect?: boolean;
  /** What to choose from; may be empty where free text is wanted. */
  options?: Choice[];
}

/** A call of a batch that comes later. */
export interface Behind {
  /** Its tool. */
  tool: string;
  /** What it would execute, or the JSON text of it. */
  arguments?: unknown;
}

/** The calls of a batch that come after this one. */
export type Batch = number | Behind[];

/** An answer that a caller can carry out beside a plain yes and no. */
export type Accepts = "stop" | "updated_input";

/** A call of a budget. It is made later with the agent, session, worker and host of the budget. */
export interface BudgetCall {
  /** Its tool. */
  tool: string;
  /** Exactly what would be executed. */
  args?: unknown;
  /** The folder it works in; that of the budget where absent. */
  cwd?: string | null;
}

/** Calls that an agent asks for ahead. */
export interface Budget {
  /** How long they may run once the budget is approved, in seconds; at most 86400. */
  for_s: number;
  /** The calls, 1 to 20. Each may run once; a call that is to run twice stands here twice. */
  calls: BudgetCall[];
}

/** The verdict of a machine, against which a call appeals. */
export interface Appeal {
  /** Which machine, for people: `Claude Code's auto mode`. */
  against: string;
  /** Why it blocked the call, in its own words; empty where it came to no verdict. */
  reason: string;
}

/** Nothing: the file is new. */
export interface ExistingNothing {
  kind: "nothing";
}

/** A file, which is replaced. */
export interface ExistingFile {
  kind: "file";
  /** Its size. */
  bytes: number;
  /** Its lines, where it is a text that is small enough to be read. */
  lines?: number | null;
}

/** What the agent's side found at the path of a file that the call writes whole. People read it
 * on the card; no rule does. */
export type Existing = ExistingNothing | ExistingFile;

/** A call that an agent submits. */
export interface SubmitRequest {
  /** The caller's idempotency key: the same key of one agent and session is the same ask. */
  key?: string | null;
  /** Who asks, such as `claude-code`. */
  agent: string;
  /** One conversation of it. */
  session: string;
  /** The process or machine that would run the call. */
  worker?: string | null;
  /** The machine's name, as the agent's side tells it. */
  host?: string | null;
  /** The folder it works in. */
  cwd?: string | null;
  /** The tool's name, as the agent calls it. */
  tool: string;
  /** Exactly what would be executed. */
  args?: unknown;
  /** The tool's category, for profiles that rule on it. */
  category?: string | null;
  /** The tool's tier, for profiles that rule on it. */
  tier?: string | null;
  /** The tool's own wish to be prompted for. */
  override?: unknown;
  /** The tool's own policy, for profiles that rule on it. */
  policy?: unknown;
  /** The name of the user's policy for it, where that is not the tool's. */
  policyKey?: string | null;
  /** How far the agent's own host trusts the person it works for; `None` where that is its
   * owner. */
  requester?: string | null;
  /** The mode that the agent itself is in, such as `plan`. Where it may only read, no rule and
   * no grant lets it do more. */
  agent_mode?: string | null;
  /** Why the agent wants it. */
  reason?: string | null;
  /** What the agent says it does. */
  description?: string | null;
  /** What a person said to the agent last, as the agent's side tells it. People read it on the
   * card; nothing is decided by it. */
  person_said?: string | null;
  /** What waits behind this call in the same batch. */
  batch_remaining?: Batch | null;
  /** Questions to a person; their answers are the answer. */
  questions?: Question[];
  /** Short for one question with these options; its text is `description`, or `reason`. */
  options?: Choice[];
  /** How long a person has, seconds; the policy's timeout where absent. */
  expires_in_s?: number | null;
  /** How long its caller waits for the answer at most, seconds: nobody is asked for longer,
   * whatever `expires_in_s` and the policy say. */
  waits_s?: number | null;
  /** Answers that the caller can carry out beside a plain yes and no; others are never given. */
  accepts?: Accepts[];
  /** Handed back unchanged. */
  meta?: unknown;
  /** What the agent calls itself, where its own token names it. The daemon sets it; a caller
   * cannot. */
  claims?: string | null;
  /** Calls that are asked for ahead, to run once each within a time; the tool is `budget` then. */
  budget?: Budget | null;
  /** The verdict against which it appeals: a machine that judges calls in a person's place has
   * blocked it. The ask is then whether exactly this call may run anyway, once. */
  appeal?: Appeal | null;
  /** Another judge stands behind this one, such as an agent's own: people are asked only where a
   * rule asks, and what no rule denies is left to that judge. */
  rules_only?: boolean;
  /** What is at the path of a file that it writes whole, as the agent's side tells it. */
  existing?: Existing | null;
  /** A random text of 16 to 200 characters, the same for every call of a session: what is
   * granted to the session covers only calls with it. */
  session_secret?: string | null;
}

/** What becomes of a call. */
export type CallVerdict = "allow" | "ask" | "deny" | "edited" | "answered";

/** Whether an ask is open, or how it ended. */
export type AskState = "open" | "answered" | "expired" | "cancelled";

/** What an ask came to, as a person says it. There is no default. */
export type Decision = "approve" | "answer" | "edit" | "deny";

/** What an approval covers: `once`, `session`, `always`, `always_prefix`, `exact`, or a time
 * such as `10m`. */
export type Scope = string;

/** A person. */
export interface ByPerson {
  kind: "person";
  /** Where they pressed: the name of a platform, `inbox` or `api`. */
  platform: string;
  /** Their lasting id there. */
  id: string;
  /** For people to read. */
  name: string;
}

/** A rule or grant that came to cover the call while it waited. */
export interface ByPolicy {
  kind: "policy";
  /** The grant, in words. */
  grant: string;
}

/** Nobody did in time. */
export interface ByTimeout {
  kind: "timeout";
}

/** Nobody could: no card reached anyone. */
export interface ByNoApprover {
  kind: "no_approver";
}

/** The caller cancelled the ask. */
export interface ByCaller {
  kind: "caller";
}

/** Who decided, so that nobody is told that "the user" said what no user said. */
export type By = ByPerson | ByPolicy | ByTimeout | ByNoApprover | ByCaller;

/** An approved call that did not run: a machine of its agent blocked it. */
export interface OverruledView {
  /** When it was reported, RFC 3339. */
  at: string;
  /** Which machine, such as `Claude Code's auto mode`. */
  by: string;
  /** Why, in its own words. */
  reason: string;
}

/** The answer to an ask. */
export interface AnswerView {
  /** What was decided. */
  decision: Decision;
  /** What an approval covers. */
  scope?: Scope | null;
  /** The approver's words for the agent. */
  reason?: string | null;
  /** Whether the agent ends its turn. */
  stop?: boolean;
  /** Whether the agent explains itself and does not try again. */
  explain?: boolean;
  /** Answers to questions, by question. */
  answers?: Record<string, unknown> | null;
  /** The arguments that may run instead of those that were submitted. */
  updated_input?: unknown;
  /** SHA-256 of the call with them. */
  updated_digest?: string | null;
  /** Who decided; of several people the last. */
  by: By;
  /** The others whose votes it took. */
  with?: By[];
  /** When, RFC 3339. */
  at: string;
  /** When its caller reported that an answer at the agent itself counted there instead, RFC
   * 3339. */
  overtaken?: string | null;
  /** The agent's own machine that blocked the call although it was approved. */
  overruled?: OverruledView | null;
}

/** What comes back from a submitted call. */
export interface CallReply {
  /** Only `allow` lets a call run. */
  verdict: CallVerdict;
  /** Who decided and why, in one sentence; absent while the ask is open. */
  reason?: string | null;
  /** The rule that decided, where nobody was asked and there is one. */
  rule?: string | null;
  /** The ask's id, where a person is or was asked. */
  ask?: string | null;
  /** The ask's state. */
  state?: AskState | null;
  /** The answer of a closed ask. */
  answer?: AnswerView | null;
  /** The text for the agent's model, where its system has one of its own. */
  message?: string | null;
}

/** A tool call, or a question, that an agent wants ruled on. The JSON of `POST /v1/calls`. */
export interface Call {
  /** The caller's idempotency key: the same key of one agent and session is the same ask. */
  key?: string | null;
  /** Who asks, such as `claude-code`. */
  agent: string;
  /** One conversation of it. */
  session: string;
  /** The process or machine that would run the call. */
  worker?: string | null;
  /** The machine's name, as the agent's side tells it. */
  host?: string | null;
  /** The folder it works in. */
  cwd?: string | null;
  /** The tool's name, as the agent calls it. */
  tool: string;
  /** Exactly what would be executed. */
  args?: unknown;
  /** The tool's category, for profiles that rule on it. */
  category?: string | null;
  /** The tool's tier, for profiles that rule on it. */
  tier?: string | null;
  /** The tool's own wish to be prompted for. */
  override?: unknown;
  /** The tool's own policy, for profiles that rule on it. */
  policy?: unknown;
  /** The name of the user's policy for it, where that is not the tool's. */
  policyKey?: string | null;
  /** How far the agent's own host trusts the person it works for; `None` where that is its
   * owner. */
  requester?: string | null;
  /** The mode that the agent itself is in, such as `plan`. Where it may only read, no rule and
   * no grant lets it do more. */
  agent_mode?: string | null;
  /** Why the agent wants it. */
  reason?: string | null;
  /** What the agent says it does. */
  description?: string | null;
  /** What a person said to the agent last, as the agent's side tells it. People read it on the
   * card; nothing is decided by it. */
  person_said?: string | null;
  /** What waits behind this call in the same batch. */
  batch_remaining?: Batch | null;
  /** Questions to a person; their answers are the answer. */
  questions?: Question[];
  /** Short for one question with these options; its text is `description`, or `reason`. */
  options?: Choice[];
  /** How long a person has, seconds; the policy's timeout where absent. */
  expires_in_s?: number | null;
  /** How long its caller waits for the answer at most, seconds: nobody is asked for longer,
   * whatever `expires_in_s` and the policy say. */
  waits_s?: number | null;
  /** Answers that the caller can carry out beside a plain yes and no; others are never given. */
  accepts?: Accepts[];
  /** Handed back unchanged. */
  meta?: unknown;
  /** What the agent calls itself, where its own token names it. The daemon sets it; a caller
   * cannot. */
  claims?: string | null;
  /** Calls that are asked for ahead, to run once each within a time; the tool is `budget` then. */
  budget?: Budget | null;
  /** The verdict against which it appeals: a machine that judges calls in a person's place has
   * blocked it. The ask is then whether exactly this call may run anyway, once. */
  appeal?: Appeal | null;
  /** Another judge stands behind this one, such as an agent's own: people are asked only where a
   * rule asks, and what no rule denies is left to that judge. */
  rules_only?: boolean;
  /** What is at the path of a file that it writes whole, as the agent's side tells it. */
  existing?: Existing | null;
}

/** A proposed edit of a call. */
export interface EditView {
  /** All arguments as they would be. */
  args: unknown;
  /** SHA-256 of the call with them: its approval names it. */
  digest: string;
  /** Who proposed it. */
  by: string;
  /** What the changed call touches. */
  effects?: string[];
  /** Whether the changed call is critical. */
  critical: boolean;
}

/** Whose answers an ask needs, and who has voted. */
export interface RequirementView {
  /** The rule behind it. */
  rule: string;
  /** The group whose members count; everybody who may answer where absent. */
  group?: string | null;
  /** How many have to approve. */
  approvals: number;
  /** The names of those who have. */
  approved?: string[];
  /** How many denials deny. */
  denials: number;
  /** The names of those who have denied. */
  denied?: string[];
}

/** A call that ran without asking, and is shown to people afterwards. */
export interface ReviewView {
  /** The agent whose call it was. */
  agent: string;
  /** Its session. */
  session: string;
  /** When it was allowed, RFC 3339. */
  at: string;
  /** What let it run. */
  through: string;
  /** What a denial does, in one sentence. */
  tightens: string;
}

/** An ask. */
export interface AskView {
  /** Its id. */
  id: string;
  /** Open, or how it ended. */
  state: AskState;
  /** The call as it was submitted. */
  call: Call;
  /** SHA-256 of the call: an answer is bound to it. */
  digest: string;
  /** Why a person is asked. */
  why: string;
  /** When it was opened, RFC 3339. */
  created: string;
  /** When it expires, RFC 3339; absent where it waits for ever. */
  deadline?: string | null;
  /** The caller's own data, unchanged. */
  meta?: unknown;
  /** The rules that Always would store. */
  always?: string[];
  /** What the call touches. */
  effects?: string[];
  /** What became of the call; absent while the ask is open. */
  verdict?: CallVerdict | null;
  /** Who decided and why, in one sentence. */
  reason?: string | null;
  /** What somebody wants the call to be instead; it counts once it is approved. */
  edit?: EditView | null;
  /** Whose answers it needs, where not everybody's counts or one is not enough. */
  needs?: RequirementView[];
  /** The answer. */
  answer?: AnswerView | null;
  /** The text for the agent's model, where its system has one of its own. */
  message?: string | null;
  /** The card as people see it, where the request says `card=true`. */
  card?: unknown;
  /** The call that ran without asking, where the ask is a review of it: `approve` says that this
   * was fine, and `deny` that it should have asked. */
  review?: ReviewView | null;
}

/** A page of asks. */
export interface AsksPage {
  /** The asks. */
  asks: AskView[];
  /** The `after` of the next page; absent on the last one. */
  next?: string | null;
}

/** How far a grant goes. */
export type GrantScope = "session" | "timed" | "always" | "budget" | "review";

/** A grant. */
export interface GrantView {
  /** Its id. */
  id: string;
  /** The ask that it was given on. */
  ask: string;
  /** The tool that its rule covers. */
  tool: string;
  /** The pattern of its rule. */
  pattern: string;
  /** The verdict of its rule. */
  verdict: string;
  /** How far it reaches. */
  scope: GrantScope;
  /** The agent that it was given to. */
  agent: string;
  /** The session that it was given in. */
  session: string;
  /** Who gave it. */
  by: By;
  /** When it was given, RFC 3339. */
  created_at: string;
  /** When it ends, RFC 3339; absent where it does not end by itself. */
  expires_at?: string | null;
  /** Its rule as people read it. */
  rule: string;
  /** How many calls it let run; for approvers, and absent under a profile that does not count
   * them. */
  used?: number | null;
  /** When it last let one run, RFC 3339. */
  last_used_at?: string | null;
  /** The last one in short. */
  last_call?: string | null;
}

/** The grants in force. */
export interface GrantsPage {
  /** The grants. */
  grants: GrantView[];
}

/** Why a caller takes its ask back. */
export type CancelReason = "answered_elsewhere" | "session_ended" | "aborted" | "refused";

/** A caller takes its ask back. */
export interface CancelRequest {
  /** Why; `aborted` where absent. */
  reason?: CancelReason | null;
  /** With `refused`: why the agent does not carry out the approval, for its card. */
  why?: string | null;
}

/** Names the agent whose session it is: for `abort` and `end`. */
export interface SessionRequest {
  /** The agent. */
  agent: string;
}

/** A nonce to show a token with. */
export interface NonceReply {
  /** The nonce, good once and for 30 s. */
  nonce: string;
}

/** Why a request is refused. It changed nothing and granted nothing. */
export interface ErrorReply {
  /** What is wrong, in one sentence. */
  error: string;
}
