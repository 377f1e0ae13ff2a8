-- Sessions of browsers, whose cookie has a secret instead of tokens, and what tells sessions apart.
alter table sessions
    add column cookie_hash bytea unique, -- SHA-256 of the secret; null for a session with refresh tokens
    add column user_agent  text,         -- at sign-in
    add column address     text;         -- of the client that last used it
