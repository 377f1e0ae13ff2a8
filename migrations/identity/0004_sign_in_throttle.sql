-- Failed sign-ins, counted in three ways, so that strangers do not lock the owner of an account out:
--   account '',  network = client address (IPv4 address or IPv6 /64): all accounts together
--   account,     network = network of the client (IPv4 /24 or IPv6 /48)
--   account,     network '': from all networks that are not known
-- An account is the SHA-256 of the lower-case address, whether or not it exists.
--
-- `sign_in_failures` stays for replicas of the previous release. Drop it in the next one.
create table sign_in_throttles (
    account        bytea            not null,
    network        text             not null,
    failures       double precision not null, -- as of last_failed_at; decreases with time
    last_failed_at timestamptz      not null,
    locked_until   timestamptz      not null,
    primary key (account, network)
);
create index sign_in_throttles_last on sign_in_throttles (last_failed_at);

-- Networks from which somebody has given the right password of an account.
create table known_networks (
    account           bytea       not null,
    network           text        not null,
    last_signed_in_at timestamptz not null,
    primary key (account, network)
);
create index known_networks_last on known_networks (last_signed_in_at);
