//! Statements that drop or empty a database.

use crate::facts::programs::arguments::Arguments;
use crate::facts::programs::words::listed;
use crate::shell::Word;

/// Returns true when a statement among the words or in the input does so.
pub(crate) fn runs_such(args: &Arguments<'_, '_>) -> bool {
    args.texts().any(destroys) || args.input().any(destroys)
}

/// Returns true when Redis empties or stops itself.
pub(crate) fn flushes(args: &Arguments<'_, '_>) -> bool {
    let words = args.named();
    let is = |word: &Word<'_>, list: &str| listed(list, &word.text.to_ascii_uppercase());
    let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let first = words.iter().find(|word| !number(&word.text));
    let some = |list: &str| words.iter().any(|word| is(word, list));
    let exact = words.iter().any(|word| listed("FLUSHALL FLUSHDB", &word.text));
    // The words may also be keys or values of another command: `GET FLUSHALL`.
    first.is_some_and(|word| is(word, "FLUSHALL FLUSHDB SHUTDOWN"))
        || exact && args.operand(0) != "GET"
        || some("FLUSHALL FLUSHDB") && !some("GET SET DEL EXISTS TYPE TTL COMMAND HELP")
}

/// Returns true when a statement drops, truncates or deletes without a condition. Quoted strings
/// are data.
pub(crate) fn destroys(sql: &str) -> bool {
    let mut bare = String::with_capacity(sql.len());
    let mut quote = None;
    for c in sql.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '\'' || c == '"' || c == '`' => {
                quote = Some(c);
                // A placeholder keeps the words around a string apart.
                bare.push('x');
            }
            None => bare.push(c.to_ascii_uppercase()),
        }
    }
    bare.split(';').any(|statement| {
        let words: Vec<&str> = statement.split_whitespace().collect();
        match words.as_slice() {
            ["DROP", what, ..] => matches!(
                *what,
                "DATABASE"
                    | "TABLE"
                    | "SCHEMA"
                    | "KEYSPACE"
                    | "USER"
                    | "VIEW"
                    | "INDEX"
                    | "ROLE"
                    | "OWNED"
                    | "COLLECTION"
                    | "TABLESPACE"
            ),
            ["TRUNCATE", ..] => words.len() > 1,
            ["DELETE", "FROM", rest @ ..] => !rest.contains(&"WHERE"),
            ["UPDATE", rest @ ..] => rest.contains(&"SET") && !rest.contains(&"WHERE"),
            ["ALTER", _, _, "DROP", ..] => true,
            _ => false,
        }
    })
}
