use proptest::prelude::*;

use crate::facts::patch::*;

/// The files and whether the patch was understood, as text.
fn told(text: &str) -> String {
    let patch = read(text);
    let files = patch.files.iter().map(|file| format!("{:?} {}", file.access, file.path));
    let exact = if patch.is_exact { "exact" } else { "unsure" };
    [exact.to_owned()].into_iter().chain(files).collect::<Vec<_>>().join(", ")
}

fn envelope(body: &str) -> String {
    format!("*** Begin Patch\n{body}\n*** End Patch")
}

#[test]
fn every_file_of_a_patch_of_codex_is_found() {
    for (body, wanted) in [
        ("*** Update File: src/a.rs\n@@ fn x\n-old\n+new\n same", "exact, Write src/a.rs"),
        ("*** Add File: /tmp/a b.txt\n+hello\n+", "exact, Write /tmp/a b.txt"),
        ("*** Delete File: ../a", "exact, Delete ../a"),
        ("*** Update File: a\n*** Move to: b\n@@\n-x\n+y", "exact, Move a, Write b"),
        (
            "*** Add File: a\n+x\n*** Update File: b\n@@\n\n x\n*** End of File\n\
             *** Delete File: c",
            "exact, Write a, Write b, Delete c",
        ),
        ("*** Update File: a\n@@\n+*** Delete File: b", "exact, Write a"),
        ("*** Update File: a\n@@\n-x\n*** Update File: a\n@@\n+y", "exact, Write a"),
    ] {
        assert_eq!(told(&envelope(body)), wanted, "{body}");
        assert_eq!(told(&(envelope(body) + "\n")), wanted, "{body}");
    }
}

#[test]
fn a_hidden_file_is_found_and_nothing_odd_is_taken_for_understood() {
    for (text, wanted) in [
        (envelope("*** Update File: a\n@@\n *** Delete File: b"), "unsure, Write a, Delete b"),
        (envelope("*** Add File: a\n+x\n  *** Delete File: b"), "unsure, Write a, Delete b"),
        (envelope("*** Add File: a\n+x\r*** Delete File: b"), "unsure, Write a, Delete b"),
        (envelope("*** Add File: a\n+x\u{2028}*** Delete File: b"), "unsure, Write a, Delete b"),
        (envelope("*** Add File: a\r\n+x\r"), "unsure, Write a"),
        (envelope("*** Add File: a") + "\n*** Delete File: b", "unsure, Write a, Delete b"),
        (
            "*** Delete File: b\n".to_owned() + &envelope("*** Add File: a\n+"),
            "unsure, Delete b, Write a",
        ),
        ("sudo x <<E\n".to_owned() + &envelope("*** Add File: a\n+"), "unsure, Write a"),
        (envelope("*** Delete File: a\n+x"), "unsure, Delete a"),
        (envelope("*** Move to: b"), "unsure, Write b"),
        (envelope("*** Update File: a\n@@\n x\n*** Move to: b"), "unsure, Write a, Write b"),
        (envelope("*** Update File: a \n@@\n x"), "unsure, Write a"),
        (envelope("*** Update File:a\n@@\n x"), "unsure, Write a"),
        (envelope("*** Update File: \"a\"\n@@\n x"), "unsure, Write \"a\""),
        (envelope(""), "unsure"),
        (envelope(&envelope("*** Add File: a\n+")), "unsure, Write a"),
        ("*** Begin Patch".to_owned(), "unsure"),
        ("rm -rf ~".to_owned(), "unsure"),
        (String::new(), "unsure"),
    ] {
        assert_eq!(told(&text), wanted, "{text:?}");
    }
}

#[test]
fn every_file_of_a_unified_diff_is_found() {
    for (text, wanted) in [
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "exact, Write x"),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n--- q\n+++ p\n", "exact, Write x"),
        ("--- /dev/null\t2026\n+++ b/n\t2026\n@@ -0,0 +1 @@\n+x\n", "exact, Write n"),
        (
            "diff --git a/x b/x\ndeleted file mode 100644\nindex 1..0\n--- a/x\n+++ /dev/null\n\
             @@ -1,2 +0,0 @@ fn y\n-a\n-b\n\\ No newline at end of file",
            "exact, Delete x",
        ),
        ("diff --git a/x y b/x y\nold mode 100644\nnew mode 100755\n", "exact, Write x y"),
        (
            "diff --git a/x b/y\nsimilarity index 90%\nrename from x\nrename to y\n",
            "exact, Move x, Write y",
        ),
        (
            "Index: /w/a.txt\n=====\n--- /w/a.txt\n+++ /w/a.txt\n@@ -1,2 +1,2 @@\n \n-a\n+b\n",
            "exact, Write /w/a.txt",
        ),
        ("--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", "exact, Write x, Write y"),
        ("@@ -1 +1 @@\n-a\n+b\n", "exact"),
        (
            "diff --git a/home/u/n b/home/u/n\ncreate file mode 100644\n--- a/dev/null\n\
             +++ b/home/u/n\n@@ -1,0 +1,1 @@\n+x",
            "exact, Write home/u/n",
        ),
    ] {
        assert_eq!(told(text), wanted, "{text:?}");
    }
}

#[test]
fn a_diff_whose_lines_do_not_add_up_is_not_understood() {
    for (text, wanted) in [
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n+c\n", "unsure, Write x"),
        ("--- a/x\n+++ b/x\n@@ -1,9 +1 @@\n-a\n+b\n--- a/y\n+++ b/y\n", "unsure, Write x, Write y"),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\nGIT binary patch\n", "unsure, Write x"),
        ("--- a/x\n@@ -1 +1 @@\n-a\n+b\n", "unsure"),
        ("--- a/x\n+++ b/x\r\n@@ -1 +1 @@\r\n-a\r\n+b\r\n", "unsure, Write x"),
        ("diff --git a/x b/y\nold mode 1\nnew mode 2\n", "unsure"),
        (
            "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\u{c}--- a/y\u{c}+++ b/y\n",
            "unsure, Write x, Write y",
        ),
    ] {
        assert_eq!(told(text), wanted, "{text:?}");
    }
}

/// A line of a patch in the form of Codex.
const LINE: &str = "(\\*\\*\\* (Update|Add|Delete) File: [ab/.]{1,4}|[-+ ][ab]|@@\
    |\\*\\*\\* (Begin|End) Patch)";

proptest! {
    /// Reference: any program that splits lines somehow and takes the documented headers.
    #[test]
    fn no_header_is_missed(
        lines in prop::collection::vec(LINE, 0..12),
        breaks in prop::collection::vec("(\n|\r\n|\r|\u{2028})", 12),
    ) {
        let both = lines.iter().zip(&breaks);
        let text: String = both.flat_map(|(line, end)| [line.as_str(), end]).collect();
        let patch = read(&text);
        for line in &lines {
            if let Some((_, path)) = line.split_once(" File: ") {
                prop_assert!(patch.files.iter().any(|file| file.path == path.trim()), "{text:?}");
            }
        }
    }

    #[test]
    fn any_text_is_read_without_a_panic(text in "\\PC*|[-+ @*a-c\\n\\r]{0,60}") {
        let patch = read(&text);
        prop_assert!(patch.files.iter().all(|file| !file.path.is_empty()) || !patch.is_exact);
    }
}
