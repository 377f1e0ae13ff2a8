-- What is left of a deleted tenant is deleted by the worker that carries out its state.
grant select, delete on quotas to atelier_storage_worker;
create policy worker on quotas to atelier_storage_worker using (true) with check (true);
