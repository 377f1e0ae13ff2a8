-- A user has a number of open sessions at most: a further sign-in ends those that were not used for longest.
alter table sessions
    drop constraint sessions_end_reason_check,
    add constraint sessions_end_reason_check check (end_reason in
        ('signed_out', 'token_reused', 'password_changed', 'user_disabled', 'membership_ended', 'displaced')) not valid;
