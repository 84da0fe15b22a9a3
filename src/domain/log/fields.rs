//! The bytes that are hashed and signed.

/// The fields as netstrings: length, colon, bytes, comma. No field can run into the next one.
pub(crate) fn fields(fields: &[&str]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for field in fields {
        bytes.extend_from_slice(field.len().to_string().as_bytes());
        bytes.push(b':');
        bytes.extend_from_slice(field.as_bytes());
        bytes.push(b',');
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_lists_of_fields_have_the_same_bytes() {
        assert_eq!(fields(&["a", "", "ü,"]), "1:a,0:,3:ü,,".as_bytes());
        assert_ne!(fields(&["a", "b"]), fields(&["ab", ""]));
    }
}
