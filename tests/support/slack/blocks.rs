//! What Slack makes of blocks: whether it takes them, and what a person sees.

use serde_json::Value;

/// Why Slack refuses these blocks.
pub fn fault(blocks: &Value) -> Option<String> {
    let blocks = blocks.as_array()?;
    if blocks.len() > 50 {
        return Some("no more than 50 items allowed [json-pointer:/blocks]".to_owned());
    }
    let faults = blocks.iter().enumerate().filter_map(|(at, block)| {
        let why = match block["type"].as_str() {
            Some("rich_text") => rich_text(block),
            Some("actions") => actions(block),
            _ => Some("unsupported type".to_owned()),
        };
        why.map(|why| format!("{why} [json-pointer:/blocks/{at}]"))
    });
    faults.into_iter().next()
}

fn keys(value: &Value, known: &[&str]) -> Option<String> {
    let object = value.as_object().expect("an object");
    let unknown = object.keys().find(|key| !known.contains(&key.as_str()))?;
    Some(format!("invalid additional property: {unknown}"))
}

fn rich_text(block: &Value) -> Option<String> {
    let parts = block["elements"].as_array().unwrap();
    let all = parts.iter().flat_map(|part| part["elements"].as_array().unwrap());
    let mut length = 0;
    for element in all {
        match element["type"].as_str().unwrap() {
            "text" => {
                let text = element["text"].as_str().unwrap();
                if text.is_empty() {
                    return Some("must be more than 0 characters".to_owned());
                }
                length += text.chars().count();
                if let Some(why) = keys(element, &["type", "text", "style"]) {
                    return Some(why);
                }
            }
            "date" => {
                if let Some(why) = keys(element, &["type", "timestamp", "format", "fallback"]) {
                    return Some(why);
                }
            }
            "user" => {
                if let Some(why) = keys(element, &["type", "user_id", "style"]) {
                    return Some(why);
                }
                if !element["user_id"].as_str().unwrap().starts_with(['U', 'W']) {
                    return Some("invalid user_id".to_owned());
                }
            }
            other => return Some(format!("unsupported type: {other}")),
        }
    }
    (parts.is_empty() || length > 3_000).then(|| format!("{length} characters"))
}

fn actions(block: &Value) -> Option<String> {
    let elements = block["elements"].as_array().unwrap();
    let mut ids: Vec<_> = elements.iter().map(|it| it["action_id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    let doubled = ids.windows(2).any(|pair| pair[0] == pair[1]);
    if elements.is_empty() || elements.len() > 25 || doubled {
        return Some("1 to 25 elements with ids of their own".to_owned());
    }
    elements.iter().find_map(|element| match element["type"].as_str().unwrap() {
        "button" => keys(element, &["type", "action_id", "value", "text", "style"])
            .or_else(|| label(&element["text"]))
            .or_else(|| style(element)),
        "overflow" => choice(element, 5, &["type", "action_id", "options"]),
        "checkboxes" => boxes(element),
        "static_select" => choice(element, 100, &["type", "action_id", "options", "placeholder"]),
        other => Some(format!("unsupported type: {other}")),
    })
}

fn style(button: &Value) -> Option<String> {
    let known = matches!(button["style"].as_str(), None | Some("primary" | "danger"));
    (!known).then(|| "must be a valid enum value".to_owned())
}

fn choice(element: &Value, most: usize, known: &[&str]) -> Option<String> {
    let options = element["options"].as_array().unwrap();
    if options.is_empty() || options.len() > most {
        return Some(format!("no more than {most} items allowed"));
    }
    let long = |it: &Value| it["value"].as_str().unwrap().len() > 75;
    keys(element, known)
        .or_else(|| options.iter().find_map(|option| label(&option["text"])))
        .or_else(|| options.iter().any(long).then(|| "a value is too long".to_owned()))
}

fn boxes(element: &Value) -> Option<String> {
    let known = ["type", "action_id", "options", "initial_options"];
    let options = element["options"].as_array().unwrap();
    let initial = element.get("initial_options").map(|it| it.as_array().unwrap());
    if initial.is_some_and(|it| it.is_empty() || it.iter().any(|it| !options.contains(it))) {
        return Some("initial_options are some of the options".to_owned());
    }
    choice(element, 10, &known)
}

fn label(text: &Value) -> Option<String> {
    let length = text["text"].as_str().unwrap().chars().count();
    let plain = text["type"] == "plain_text";
    (!plain || length == 0 || length > 75).then(|| format!("a label of {length} characters"))
}

/// All that a person reads.
pub fn text(blocks: &Value) -> String {
    let rich = blocks.as_array().into_iter().flatten().filter(|it| it["type"] == "rich_text");
    let parts = rich.flat_map(|block| block["elements"].as_array().unwrap());
    let part = |part: &Value| -> String {
        let texts = part["elements"].as_array().unwrap().iter();
        let shown = |it: &Value| match it["user_id"].as_str() {
            Some(user) => format!("@{user}"),
            None => it["text"].as_str().or(it["fallback"].as_str()).unwrap().to_owned(),
        };
        texts.map(shown).collect()
    };
    parts.map(part).collect::<Vec<_>>().join("\n")
}

fn elements(blocks: &Value) -> impl Iterator<Item = &Value> {
    let rows = blocks.as_array().into_iter().flatten().filter(|it| it["type"] == "actions");
    rows.flat_map(|row| row["elements"].as_array().unwrap())
}

/// Labels and values of the buttons.
pub fn buttons(blocks: &Value) -> Vec<(String, String)> {
    let buttons = elements(blocks).filter(|it| it["type"] == "button");
    buttons.map(|it| (owned(&it["text"]["text"]), owned(&it["value"]))).collect()
}

/// Boxes to tick.
#[derive(Default)]
pub struct Ticks {
    pub action_id: String,
    /// Labels and values.
    pub options: Vec<(String, String)>,
    /// The values of those that are ticked to begin with.
    pub initial: Vec<String>,
}

/// The boxes to tick of a message.
pub fn ticks(blocks: &Value) -> Option<Ticks> {
    let drawn = elements(blocks).find(|it| it["type"] == "checkboxes")?;
    let pair = |it: &Value| (owned(&it["text"]["text"]), owned(&it["value"]));
    let options = drawn["options"].as_array().unwrap().iter().map(pair).collect();
    let initial = drawn["initial_options"].as_array().into_iter().flatten();
    let initial = initial.map(|it| owned(&it["value"])).collect();
    Some(Ticks { action_id: owned(&drawn["action_id"]), options, initial })
}

/// The id of the button that carries this token.
pub fn action_id(blocks: &Value, token: &str) -> Option<String> {
    elements(blocks).find(|it| it["value"] == token).map(|it| owned(&it["action_id"]))
}

/// Labels and values of what is in menus.
pub fn options(blocks: &Value) -> Vec<(String, String)> {
    let menus = elements(blocks).filter(|it| it["type"] != "button" && it["type"] != "checkboxes");
    let options = menus.flat_map(|it| it["options"].as_array().unwrap());
    options.map(|it| (owned(&it["text"]["text"]), owned(&it["value"]))).collect()
}

fn owned(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
