//! A rule that was tried on the Rules page is saved by whoever is signed in there, as Always is.

use crate::{
    browser::Browser,
    daemon::{APPROVER, Daemon, shell},
    inbox_visitor::Visitor,
    telegram_server::{ANA, GROUP, TOKEN, Telegram},
};
use serde_json::{Value, json};

const PEOPLE: &str = "\n[[people]]\nname = \"Ana\"\ntelegram = 4211\n";
const RULES: &str = "// ours\n{\n  \"shell_exec\": {\n    \"*\": \"ask\", // all\n    \
                     \"cargo publish *\": \"deny\",\n    \"git status\": \"allow\"\n  },\n  \
                     \"mcp__db__*\": \"ask\"\n}\n";
const TOO_WIDE: &str = "That is wider than Always goes. Name more of the command, or add the line \
                        to the rules file.";
const SAVE: &str = "/inbox/api/rules/save";

struct Team {
    telegram: Telegram,
    daemon: Daemon,
}

impl Team {
    async fn start(more: &str) -> Self {
        let telegram = Telegram::start().await;
        let config = format!(
            "[telegram]\ntoken = \"{TOKEN}\"\napi_url = \"{}\"\ntargets = [{{ chat = {GROUP} }}]\n\
             {PEOPLE}{more}",
            telegram.url()
        );
        let daemon = Daemon::start_with(&config, &[("permissions.jsonc", RULES)]).await;
        Self { telegram, daemon }
    }

    async fn link(&self) -> String {
        self.telegram.sign_in_link(ANA).await
    }

    async fn ana(&self) -> Visitor {
        Visitor::sign_in(&self.link().await).await.unwrap()
    }

    fn rules(&self) -> String {
        std::fs::read_to_string(self.daemon.dir.path().join("permissions.jsonc")).unwrap()
    }

    async fn verdict(&self, command: &str) -> Value {
        self.daemon.call(&shell(command)).await.1["verdict"].clone()
    }
}

async fn save(who: &Visitor, rule: Value) -> (u16, Value) {
    who.send(SAVE, &rule.to_string()).await
}

fn allow(pattern: &str) -> Value {
    json!({ "tool": "shell_exec", "pattern": pattern, "verdict": "allow" })
}

async fn refused(who: &Visitor, rule: Value) -> String {
    let (status, reply) = save(who, rule.clone()).await;
    assert!(matches!(status, 403 | 422), "{rule} {status} {reply}");
    reply["error"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_saved_rule_holds_at_once_is_its_authors_and_is_taken_back() {
    let team = Team::start("").await;
    let ana = team.ana().await;
    assert_eq!(team.verdict("cargo build --release").await, "ask");
    let (status, saved) = save(&ana, allow("cargo build *")).await;
    let by = json!({ "kind": "person", "platform": "inbox", "id": "telegram:4211", "name": "Ana" });
    assert_eq!((status, &saved["rule"]), (200, &json!("shell: cargo build *")), "{saved}");
    assert_eq!((&saved["by"], &saved["scope"]), (&by, &json!("always")));
    assert_eq!(team.verdict("cargo build --release").await, "allow");
    assert_eq!(team.verdict("cargo publish").await, "deny", "denies stay");
    assert_eq!(team.rules(), RULES, "the file stays as a person wrote it");
    // Who did it is in the log, and in every list.
    let output = team.daemon.command(&["log", "--kind", "saved"]).output().await.unwrap();
    let log = String::from_utf8(output.stdout).unwrap();
    assert!(log.contains("shell: cargo build *, by Ana"), "{log}");
    let output = team.daemon.command(&["grants"]).output().await.unwrap();
    let listed = String::from_utf8(output.stdout).unwrap();
    assert!(listed.contains("shell: cargo build *  always, by Ana"), "{listed}");
    let path = format!("/inbox/api/grants/{}", saved["id"].as_str().unwrap());
    assert_eq!(ana.api(reqwest::Method::DELETE, &path).await.0, 200);
    assert_eq!(team.rules(), RULES);
    assert_eq!(team.verdict("cargo build --release").await, "ask");
    let output = team.daemon.command(&["log", "--kind", "revoked"]).output().await.unwrap();
    let log = String::from_utf8(output.stdout).unwrap();
    assert!(log.contains("shell: cargo build *, by Ana"), "{log}");
}

#[tokio::test]
async fn no_rule_is_saved_that_no_card_would_store() {
    let team = Team::start("").await;
    let ana = team.ana().await;
    let tool = |tool: &str, pattern: &str, verdict: &str| json!({ "tool": tool, "pattern": pattern, "verdict": verdict });
    let critical = "Such calls are critical: they ask every time, whatever a rule says.";
    let none = "No rule is saved for such calls: each asks. A line in the rules file may still \
                allow them.";
    let one_star = "A rule is saved with one `*`, at the end and behind a blank, such as \
                    `cargo build *`. Add other patterns to the rules file.";
    let only = "Only a rule that allows is saved here, as Always saves one. Add the line to the \
                rules file instead.";
    let cases = [
        (allow("rm -rf / *"), critical.to_owned()),
        (allow("git push --force origin main"), critical.to_owned()),
        (allow("*"), one_star.to_owned()),
        (allow("git * push"), one_star.to_owned()),
        (
            allow("git status"),
            "Such calls are allowed already, so there is nothing to save.".into(),
        ),
        (tool("shell_exec", "cargo build *", "deny"), only.to_owned()),
        (tool("shell_exec", "cargo build *", "ask"), only.to_owned()),
    ];
    let denied = refused(&ana, allow("cargo publish *")).await;
    assert!(denied.starts_with("A deny is not lifted here: "), "{denied}");
    for (rule, wanted) in cases {
        assert_eq!(refused(&ana, rule.clone()).await, wanted, "{rule}");
    }
    let too_wide = [
        allow("cargo *"),
        allow("bash *"),
        allow("sudo *"),
        allow("git push *"),
        allow("cargo build && rm *"),
        allow("cargo build $(make x) *"),
        tool("mcp__db__delete_all", "*", "allow"),
        tool("mcp__*", "*", "allow"),
        tool("*", "*", "allow"),
        tool("category:exec", "*", "allow"),
        tool("write_file", "*", "allow"),
    ];
    for rule in too_wide {
        let told = refused(&ana, rule.clone()).await;
        assert!(told == none || told == TOO_WIDE, "{rule}: {told}");
    }
    assert_eq!(team.rules(), RULES);
    let (_, grants) = team.daemon.get("/v1/grants", APPROVER).await;
    assert_eq!(grants["grants"], json!([]));
}

#[tokio::test]
async fn nobody_without_a_name_saves_and_no_one_alone_where_several_answer_or_all_is_paused() {
    let team = Team::start("").await;
    let nobody = Visitor::enter(&team.daemon.inbox).await;
    let told = refused(&nobody, allow("cargo build *")).await;
    assert!(told.starts_with("People answer by name here"), "{told}");
    let ana = team.ana().await;
    ana.command("pause").await;
    let told = refused(&ana, allow("cargo build *")).await;
    assert_eq!(told, "Everything is paused: no rule is saved until somebody resumes.");
    ana.command("resume").await;
    // Neither an agent's token nor the approver's has such a route.
    for token in [crate::daemon::AGENT, APPROVER] {
        let rule = allow("cargo build *");
        assert_eq!(team.daemon.post("/v1/rules/save", token, &rule).await.0, 404);
        assert_eq!(team.daemon.post(SAVE, token, &rule).await.0, 401);
    }
    let config = std::fs::read_to_string(team.daemon.config()).unwrap();
    let two = "[[people]]\nname = \"Ben\"\ntelegram = 4212\n[[answer_rules]]\nname = \"push\"\n\
               command = \"git push *\"\napprovals = 2\n";
    std::fs::write(team.daemon.config(), format!("{config}{two}")).unwrap();
    let reloaded = team.daemon.command(&["reload"]).output().await.unwrap();
    assert!(reloaded.status.success(), "{reloaded:?}");
    let told = refused(&ana, allow("cargo build *")).await;
    assert!(told.starts_with("The config has answer rules, and a saved rule"), "{told}");
    assert_eq!(team.rules(), RULES);
}

#[tokio::test]
async fn an_answer_rule_that_is_added_later_outranks_a_saved_rule() {
    let team = Team::start("").await;
    let ana = team.ana().await;
    assert_eq!(save(&ana, allow("cargo build *")).await.0, 200);
    assert_eq!(team.verdict("cargo build").await, "ask", "the rule wants an argument");
    assert_eq!(team.verdict("cargo build --release").await, "allow");
    let config = std::fs::read_to_string(team.daemon.config()).unwrap();
    let two = "[[people]]\nname = \"Ben\"\ntelegram = 4212\n[[answer_rules]]\nname = \"build\"\n\
               command = \"cargo build *\"\napprovals = 2\n";
    std::fs::write(team.daemon.config(), format!("{config}{two}")).unwrap();
    let reloaded = team.daemon.command(&["reload"]).output().await.unwrap();
    assert!(reloaded.status.success(), "{reloaded:?}");
    assert_eq!(team.verdict("cargo build --release").await, "ask");
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_browser_a_tried_rule_is_saved_with_one_press_and_undone_with_another() {
    let team = Team::start("").await;
    let Some(browser) = Browser::start().await else { return };
    let page = browser.open(&team.link().await).await;
    page.until("!document.querySelector('#go').hidden").await;
    page.click("#go").await;
    page.until("document.querySelector('#line').dataset.state === 'live'").await;
    page.eval("location.hash = '#/rules'").await;
    page.until("document.querySelector('[data-form=try]')").await;
    let said = "document.querySelector('[data-form=try] ~ .said')";
    let try_out = async |pattern: &str| {
        page.eval("document.querySelector('[name=pattern]').value = ''").await;
        page.click("[name=pattern]").await;
        page.write(pattern).await;
        page.click("[data-form=try] [type=submit]").await;
        let label = format!("{said}.querySelector('[data-save] button')?.innerText");
        page.until(&format!("{label} === 'Save: allow {pattern}'")).await;
    };
    try_out("cargo *").await;
    page.click("[data-save] button").await;
    page.until(&format!("{said}.querySelector('.wrong')")).await;
    let told = page.eval(&format!("{said}.querySelector('.wrong').innerText")).await;
    assert_eq!(told, TOO_WIDE);
    try_out("cargo build *").await;
    let label = format!("{said}.querySelector('[data-save] button').innerText");
    page.click("[data-save] button").await;
    page.until(&format!("{label} === 'Undo'")).await;
    let saved = "Saved: shell: cargo build *. Agents run it without asking from now on.";
    assert_eq!(page.eval(&format!("{said}.querySelector('[data-save] p').innerText")).await, saved);
    assert_eq!(team.verdict("cargo build --release").await, "allow");
    page.click("[data-save] button").await;
    page.until(&format!("{said}.querySelector('[data-save]').innerText.startsWith('Undone')"))
        .await;
    assert_eq!(team.rules(), RULES);
    assert_eq!(page.complaints().iter().filter(|it| !it.contains("422")).count(), 0);
}
