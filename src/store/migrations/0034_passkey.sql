-- The passkeys (WebAuthn) with which people sign in to the inbox. Bytes are in base64url.
CREATE TABLE passkey (
    id              TEXT PRIMARY KEY,
    credential      TEXT NOT NULL UNIQUE,
    host            TEXT NOT NULL,    -- the relying party for which it was made
    person          TEXT NOT NULL,    -- the identity with which its person was signed in
    owner           TEXT NOT NULL,    -- their name then
    name            TEXT NOT NULL,
    handle          TEXT NOT NULL,    -- by which the authenticator knows them
    public_key      TEXT NOT NULL,    -- SubjectPublicKeyInfo
    algorithm       BIGINT NOT NULL,  -- its COSE number
    counter         BIGINT NOT NULL,
    backup_eligible BIGINT NOT NULL,
    created_at      BIGINT NOT NULL,
    used_at         BIGINT
);
