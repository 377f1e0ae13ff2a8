-- The jobs service asks every two seconds whose allowance has ended: without this, all are read.
create index allowances_end on allowances (least(runs_out_at, valid_until));
