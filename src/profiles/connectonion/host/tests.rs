#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::connectonion::host::{Expires, PermissionMode, PermissionSource, read};

#[test]
fn the_shipped_template_has_its_87_permissions() {
    let host = read(None, "host.yaml", false).unwrap();
    assert_eq!(host.permissions.allowed().count(), 87);
    let tools =
        host.permissions.allowed().filter(|one| one.source == PermissionSource::Safe).count();
    assert_eq!((tools, host.mode), (11, PermissionMode::ReadOnly));
    assert!(host.permissions.iter().all(|one| one.expires == Expires::Never));
}

#[test]
fn yaml_lies_over_the_template_and_json_is_the_whole_set() {
    let yaml = "trust: careful\npermissions:\n  \"write\":\n    allowed: true\n    \
                when:\n      file_path: \"*.md\"\n";
    assert_eq!(read(Some(yaml), "host.yaml", false).unwrap().permissions.allowed().count(), 88);
    let json = r#"{"permissions":{"write":{"allowed":true}}}"#;
    assert_eq!(read(Some(json), "config", false).unwrap().permissions.allowed().count(), 1);
}

#[test]
fn mistakes_are_named_with_their_place() {
    for (text, error) in [
        (
            r#"{"permission":{}}"#,
            "config: there is no key \"permission\"; a host.yaml has permissions, and for \
             countersign profile, grant and era",
        ),
        (
            r#"{"permissions":{"write":{"allowed":true,"match":{"file_path":"*.md"}}}}"#,
            "config: permissions: write: there is no field \"match\"; conditions stand under \
             when",
        ),
        (
            r#"{"permissions":{"write":{"allowed":"yes"}}}"#,
            "config: permissions: write: allowed is true or false",
        ),
        (
            r#"{"permissions":{"write":{"allowed":true,"source":"me"}}}"#,
            "config: permissions: write: there is no source \"me\"; the sources are safe, \
             config, skill, user and mode",
        ),
        (
            r#"{"permissions":{"write":{"allowed":true,"expires":{"type":"soon"}}}}"#,
            "config: permissions: write: expires has the type never, turn_end or session_end",
        ),
        (
            r#"{"profile":"yolo"}"#,
            "config: there is no mode \"yolo\"; the modes are :read-only, :workspace, \
             :danger-full-access with its turns (`:danger-full-access 0/5`) and remote-exec",
        ),
    ] {
        assert_eq!(read(Some(text), "config", false).unwrap_err(), error);
    }
}
