-- The catalogue of service images that users choose from.

-- A version of a service. It belongs to the platform.
create table service_images (
    id           uuid primary key,
    service      text not null,
    version      text not null,
    description  text not null,
    template     jsonb not null, -- how its containers run: ports, probe, environment, command, volumes
    enabled      boolean not null, -- whether it can be ordered
    generation   bigint not null default 1,
    created_at   timestamptz not null default now(),
    updated_at   timestamptz not null default now(),
    descriptions jsonb not null default '{}', -- by language tag
    icon_url     text,
    links        jsonb not null default '[]',
    recommended  boolean not null default false, -- one version of a service
    deprecated   boolean not null default false,
    unique (service, version)
);
create unique index service_images_recommended on service_images (service) where recommended;
revoke insert, update, delete on service_images from atelier_gpu_worker;
