//! The promises that every adapter keeps.

use crate::slack::{self, FakeSlack, Person, TEAM};
use crate::support::{adapter, ana, target};
use countersign_port::{Adapter, MessageRef, Presser, Target, async_trait};
use countersign_port_testkit::{
    FakePlatform, Injected, PlatformFault, VisibleMessage, conformance,
};
use std::sync::Arc;

struct Workspace(FakeSlack);

fn person(presser: &Presser) -> Person {
    let (team, user) = presser.id.split_once('/').unwrap();
    Person::new(user, &presser.name).of_team(team)
}

/// Without the thread, which people do not see in its name.
fn plain(message: &MessageRef) -> String {
    message.0.splitn(3, '/').take(2).collect::<Vec<_>>().join("/")
}

#[async_trait]
impl FakePlatform for Workspace {
    fn adapter(&self) -> Arc<dyn Adapter> {
        adapter(&self.0)
    }

    fn somebody(&self) -> Presser {
        let id = format!("{TEAM}/{}", ana().id);
        Presser { id, name: "Ana".to_owned(), roles: vec![] }
    }

    fn target(&self) -> Target {
        target()
    }

    fn thread_target(&self) -> Option<Target> {
        Some(target())
    }

    async fn delete_thread(&self, thread: &Target) {
        self.0.delete(&thread.0);
    }

    async fn shown(&self, message: &MessageRef) -> VisibleMessage {
        let posted = self.0.message(&plain(message)).unwrap();
        let files = posted.files.into_iter().map(|(_, text)| text).collect();
        VisibleMessage { text: posted.text, buttons: posted.buttons, files }
    }

    async fn press(&self, message: &MessageRef, label: &str, by: &Presser) -> Option<String> {
        self.0.press(&plain(message), label, &person(by)).await.words()
    }

    async fn give_text(&self, message: &MessageRef, text: &str, by: &Presser) -> Option<String> {
        self.0.give_text(&plain(message), text, &person(by)).await.words()
    }

    async fn inject(&self, fault: PlatformFault) -> Injected {
        let on_post = |fault| self.0.fail("chat.postMessage", 1, fault);
        match fault {
            PlatformFault::Limited(after) => {
                on_post(slack::Fault::Limited { retry_after: after.as_secs() });
            }
            PlatformFault::AnswerLost => on_post(slack::Fault::DropAfter),
            PlatformFault::Disconnected => self.0.drop_sockets(),
        }
        Injected::Once
    }
}

#[tokio::test]
async fn the_adapter_keeps_the_contract() {
    let fake = FakeSlack::start().await;
    // Its own limits have tests of their own; the kit brings one when it wants one.
    fake.without_limits();
    conformance(&Workspace(fake.clone())).await;
    assert_eq!(fake.violations(), Vec::<String>::new());
}
