-- What was seen of contents: of uploads, so that another content is found; of checkpoints, so that one counts as stored when it is,
-- and not when its address is asked for.

alter table uploads add column etag text; -- of the content that was seen at uploaded_at; null if it is not known

alter table checkpoints
    add column stored_at timestamptz, -- when its content was seen in the bucket; what is older than created_at is of an earlier one
    add column found text; -- what was in its place when it was announced: its content is something else
update checkpoints set stored_at = created_at;
