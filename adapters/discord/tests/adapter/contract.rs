//! The promises that every adapter keeps.

use crate::discord::{FakeDiscord, Person};
use crate::support::{adapter, target};
use countersign_port::testkit::{FakePlatform, Shown, conformance};
use countersign_port::{MessageRef, Presser, Target, async_trait};

struct Chat(FakeDiscord);

fn person(presser: &Presser) -> Person {
    Person::new(&presser.id, &presser.name)
}

#[async_trait]
impl FakePlatform for Chat {
    fn somebody(&self) -> Presser {
        Presser { id: "4211".to_owned(), name: "Ana".to_owned(), roles: vec![] }
    }

    fn target(&self) -> Target {
        target()
    }

    async fn shown(&self, message: &MessageRef) -> Shown {
        let posted = self.0.message(&message.0).unwrap();
        let files = posted.files.into_iter().map(|(_, text)| text).collect();
        Shown { text: posted.text, buttons: posted.buttons, files }
    }

    async fn press(&self, message: &MessageRef, label: &str, by: &Presser) -> Option<String> {
        self.0.press(&message.0, label, &person(by)).await.words()
    }

    async fn give_text(&self, message: &MessageRef, text: &str, by: &Presser) -> Option<String> {
        self.0.give_text(&message.0, text, &person(by)).await.words()
    }
}

#[tokio::test]
async fn the_adapter_keeps_the_contract() {
    let fake = FakeDiscord::start().await;
    conformance(adapter(&fake), &Chat(fake.clone())).await;
    assert_eq!(fake.violations(), Vec::<String>::new());
}
