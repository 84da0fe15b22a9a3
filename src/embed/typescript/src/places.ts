import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";

/** The variables of an environment. */
export type Environment = Record<string, string | undefined>;

/** The folders of this user, as the program `countersign` finds them: the XDG folders. */
export interface Places {
  home: string;
  config: string;
  state: string;
  runtime: string | null;
}

/** Reads the folders from the environment. */
export function placesOfThisUser(env: Environment = process.env): Places {
  const home = env["HOME"] || homedir();
  const folder = (variable: string): string | null => {
    // The XDG specification has relative paths ignored.
    const named = env[variable] ?? "";
    return isAbsolute(named) ? named : null;
  };
  const runtime = folder("XDG_RUNTIME_DIR");
  return {
    home,
    config: join(folder("XDG_CONFIG_HOME") ?? join(home, ".config"), "countersign"),
    state: join(folder("XDG_STATE_HOME") ?? join(home, ".local/state"), "countersign"),
    runtime: runtime === null ? null : join(runtime, "countersign"),
  };
}

/** Resolves a path in a config: `~/` is the home folder, and a relative path starts at `base`. */
export function resolvePath(places: Places, base: string, text: string): string {
  return text.startsWith("~/") ? join(places.home, text.slice(2)) : resolve(base, text);
}
