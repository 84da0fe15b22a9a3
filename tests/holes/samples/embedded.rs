//! The sample of the library for zeptoclaw, compiled from the lines of its page.

use super::{
    Ran,
    bridge::{Bridge, each},
    markdown::block,
    patience, wanted,
};

/// What the page's sample is surrounded by in an agent.
struct Config {
    approval: countersign_zeptoclaw::ApprovalConfig,
}

#[rustfmt::skip]
async fn sample(server: countersign_zeptoclaw::Server, secret: Option<countersign_zeptoclaw::Secret>, ran: &std::sync::Mutex<Ran>) -> Result<(), Box<dyn std::error::Error>> {
    use countersign_zeptoclaw::*;
    let (config, session_id) = (Config { approval: ApprovalConfig::careful() }, "one");
    let call = ToolCall { name: "shell".into(), arguments: serde_json::json!({"command": "make deploy"}), category: ToolCategory::Shell };
    let run = async |_: ToolCall| *ran.lock().unwrap() = Ran::Yes;
    let answer_the_model_with = |words: String| eprintln!("{words}");
    // SAMPLE
    let settings = ClientSettings {
        url: vec![server],
        token: secret, insecure_http: false, ca_file: None,
    };
    let approvals = Approvals {
        mode: ModePolicy::new(AgentMode::Assistant),
        gate: ApprovalGate::new(config.approval),
        handler: Some(Daemon::new(&settings, "zeptoclaw", session_id)?.handler()),
    };
    match approvals.decide(&call, Channel::Remote).await {
        CallOutcome::Run => run(call).await,
        CallOutcome::Skip(words) => answer_the_model_with(words),
    }
    // END
    Ok(())
}

#[test]
fn row_13a_the_sample_that_is_tried_is_the_one_in_the_page() {
    let code = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
    };
    let page = block("docs/profiles/zeptoclaw.md", "rust", "Approvals {");
    let page = page
        .replace("Server::Unix(\"/run/user/1000/countersign/countersign.sock\".into())", "server")
        .replace("token: None", "token: secret");
    let page: Vec<String> =
        code(&page).into_iter().filter(|line| !line.starts_with("use ")).collect();
    let tried = include_str!("embedded.rs");
    let tried = tried.split("// SAMPLE\n").nth(1).unwrap().split("// END").next().unwrap();
    assert_eq!(code(tried), page);
}

#[tokio::test]
async fn row_13a_the_librarys_sample_runs_the_tool_on_an_explicit_allow_only() {
    each("[policy]\nprofile = \"zeptoclaw\"\ntimeout = \"2s\"", async |bridge: &Bridge, ending| {
        let ran = std::sync::Mutex::new(Ran::No);
        let server = countersign_zeptoclaw::Server::Http(bridge.url.parse().unwrap());
        let secret = Some(countersign_zeptoclaw::Secret::new(&bridge.token));
        let trying = tokio::time::timeout(patience(ending), sample(server, secret, &ran));
        let (tried, ()) = tokio::join!(trying, bridge.answer());
        assert_eq!(*ran.lock().unwrap(), wanted(ending), "{ending:?}: {tried:?}");
    })
    .await;
}
