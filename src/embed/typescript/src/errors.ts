/** The daemon gave no decision. None of these errors ever permits a call. */
export class CountersignError extends Error {
  override name = "CountersignError";
}

/** No connection could be made, so the daemon has not received the request. */
export class Unreachable extends CountersignError {
  override name = "Unreachable";
  readonly server: string;
  readonly why: string;

  constructor(server: string, why: string) {
    super(`no countersign daemon at ${server}: ${why}; start one with \`countersign serve\``);
    this.server = server;
    this.why = why;
  }
}

/** The connection was lost after the request was sent. */
export class Lost extends CountersignError {
  override name = "Lost";
  readonly server: string;
  readonly why: string;

  constructor(server: string, why: string) {
    super(`no answer from the daemon at ${server}: ${why}`);
    this.server = server;
    this.why = why;
  }
}

/** The token is missing, wrong, or insufficient. */
export class Refused extends CountersignError {
  override name = "Refused";
}

/** The daemon refused the request. */
export class Rejected extends CountersignError {
  override name = "Rejected";
}

/** The agent or session is over a limit of the daemon, so nobody was asked. */
export class TooMuch extends CountersignError {
  override name = "TooMuch";
}

/** The reply cannot be understood; it never counts as an approval. */
export class Unreadable extends CountersignError {
  override name = "Unreadable";

  constructor(server: string, why: string) {
    super(`the daemon at ${server} gave an answer that this version cannot read: ${why}`);
  }
}

/** The client could not be set up, or the call cannot be sent. */
export class SetUp extends CountersignError {
  override name = "SetUp";
}
