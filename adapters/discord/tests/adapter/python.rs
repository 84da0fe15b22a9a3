//! The same against the stricter stand-in in Python, which runs elsewhere.
