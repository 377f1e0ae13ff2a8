-- The part of the price for which a stopped instance may keep its unit; null: it may not. Replicas of the previous release
-- do not read it.
alter table gpu_specs
    add column hold_price_fraction numeric(5, 4) check (hold_price_fraction between 0 and 1);
alter table gpu_spec_prices
    add column hold_price_fraction numeric(5, 4) check (hold_price_fraction between 0 and 1);
