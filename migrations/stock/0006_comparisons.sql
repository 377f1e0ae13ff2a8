-- Comparisons of the clusters with the units, and what they repaired.

-- Leases of work that one replica does at a time, or once in a period (libs/db): comparisons, forecasts.
create table leases (
    name  text primary key,
    owner uuid not null,
    until timestamptz not null
);
revoke all on leases from atelier_stock_app;

-- Drift that was found and repaired.
create table repairs (
    id      bigint generated always as identity primary key,
    at      timestamptz not null default now(),
    cluster text, -- null: counts of units were wrong
    kind    text not null,
    unit_id uuid, -- null: counts, or an object that has no unit's name
    detail  text not null
);
revoke insert, update, delete on repairs from atelier_stock_app;
