-- The presentation of a version, and whether it is recommended or deprecated. An older replica leaves the new columns as
-- they are.
alter table service_images
    add column descriptions jsonb   not null default '{}', -- by language tag
    add column icon_url     text,
    add column links        jsonb   not null default '[]',
    add column recommended  boolean not null default false,
    add column deprecated   boolean not null default false;
create unique index service_images_recommended on service_images (service) where recommended;
