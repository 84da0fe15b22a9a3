/** Asks people for approval before an agent acts: the client of the countersign daemon. */

export { type Call, type CallFields, freshKey, newCall, newQuestion } from "./call.ts";
export { Client, type ClientOptions, type DecideOptions } from "./client.ts";
export {
  type Answer,
  type Answered,
  answerText,
  type Approved,
  type Decision,
  type Denied,
  type Edited,
  type Ending,
  type StillOpen,
  textForModel,
} from "./decision.ts";
export {
  CountersignError,
  Lost,
  Refused,
  Rejected,
  SetUp,
  TooMuch,
  Unreachable,
  Unreadable,
} from "./errors.ts";
export { type ClientSettings, loadSettings, type Server, settingsFor } from "./settings.ts";
export type { By, Choice, GrantView, Question } from "./wire.ts";
