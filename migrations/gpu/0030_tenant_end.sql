-- What is left of a deleted tenant is deleted by the worker that carries out its state.
grant delete on budgets, event_logs, quotas to atelier_gpu_worker;
create policy worker_deletes on quotas for delete to atelier_gpu_worker using (true);
