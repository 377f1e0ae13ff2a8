//! SQL of kept logs: the index of chunks, and who collects.

use ids::{InstanceId, TenantId};
use sqlx::PgConnection;

use super::{chunk::Chunk, line::Position};

/// The stored part of the log of one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Log {
    pub(super) tenant: TenantId,
    pub(super) instance: InstanceId,
    pub(super) attempt: i64,
    /// The pod from which it was collected last; empty before the first line.
    pub(super) pod: String,
    /// The end of what came from earlier pods.
    pub(super) floor: Position,
    /// The last line that is stored.
    pub(super) position: Position,
    /// Number of the next chunk.
    pub(super) next_chunk: i64,
}

impl Log {
    /// Returns a log with no stored lines.
    pub(super) fn new(tenant: TenantId, instance: InstanceId, attempt: i64) -> Self {
        let (floor, position) = (Position::default(), Position::default());
        Self { tenant, instance, attempt, pod: String::new(), floor, position, next_chunk: 1 }
    }

    /// Whether lines were stored. Retention may have deleted them.
    pub(super) fn has_lines(&self) -> bool {
        self.position > Position::default()
    }
}

struct LogRow {
    tenant_id: TenantId,
    pod: Option<String>,
    floor_time: Option<i64>,
    floor_sequence: Option<i32>,
    last_time: Option<i64>,
    last_sequence: Option<i32>,
    next_chunk: Option<i64>,
}

/// Returns the log of an attempt, which may be empty; none if the instance does not exist any more.
pub(super) async fn find(
    conn: &mut PgConnection,
    instance: InstanceId,
    attempt: i64,
) -> sqlx::Result<Option<Log>> {
    let row = sqlx::query_as!(
        LogRow,
        r#"select i.tenant_id, l.pod as "pod?", l.floor_time as "floor_time?", l.floor_sequence as "floor_sequence?",
                  l.last_time as "last_time?", l.last_sequence as "last_sequence?", l.next_chunk as "next_chunk?"
           from instances i left join instance_logs l on l.instance_id = i.id and l.attempt = $2
           where i.id = $1 and i.state <> 'deleted'"#,
        instance as InstanceId,
        attempt,
    );
    let position = |time: Option<i64>, sequence: Option<i32>| Position {
        time: time.unwrap_or_default(),
        sequence: sequence.unwrap_or_default(),
    };
    Ok(row.fetch_optional(conn).await?.map(|row| Log {
        tenant: row.tenant_id,
        instance,
        attempt,
        pod: row.pod.unwrap_or_default(),
        floor: position(row.floor_time, row.floor_sequence),
        position: position(row.last_time, row.last_sequence),
        next_chunk: row.next_chunk.unwrap_or(1),
    }))
}

/// Stores a chunk and the position after it. `before` is the log without it. Returns the log with it; none,
/// and nothing is stored, if another replica has stored a chunk meanwhile, or the instance is deleted.
pub(super) async fn append(
    conn: &mut PgConnection,
    before: &Log,
    chunk: &Chunk,
    key: &str,
    after_gap: bool,
) -> sqlx::Result<Option<Log>> {
    let after = Log { position: chunk.last, next_chunk: before.next_chunk + 1, ..before.clone() };
    let moved = sqlx::query!(
        "insert into instance_logs as log (instance_id, attempt, tenant_id, pod, floor_time, floor_sequence, last_time,
             last_sequence, next_chunk)
         select $1, $2, $3, $4, $5, $6, $7, $8, $9
         where ($10::bigint = 1 or exists (select from instance_logs where instance_id = $1 and attempt = $2))
             and exists (select from instances where id = $1 and state <> 'deleted')
         on conflict (instance_id, attempt) do update
         set pod = $4, floor_time = $5, floor_sequence = $6, last_time = $7, last_sequence = $8, next_chunk = $9,
             updated_at = now()
         where log.next_chunk = $10",
        after.instance as InstanceId,
        after.attempt,
        after.tenant as TenantId,
        after.pod,
        after.floor.time,
        after.floor.sequence,
        after.position.time,
        after.position.sequence,
        after.next_chunk,
        before.next_chunk,
    )
    .execute(&mut *conn)
    .await?;
    if moved.rows_affected() != 1 {
        return Ok(None);
    }
    sqlx::query!(
        "insert into log_chunks (instance_id, attempt, number, tenant_id, first_time, first_sequence, last_time,
             last_sequence, lines, text_bytes, bytes, object_key, after_gap)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
        after.instance as InstanceId,
        after.attempt,
        before.next_chunk,
        after.tenant as TenantId,
        chunk.first.time,
        chunk.first.sequence,
        chunk.last.time,
        chunk.last.sequence,
        chunk.lines,
        chunk.text_bytes,
        i32::try_from(chunk.bytes.len()).unwrap_or(i32::MAX),
        key,
        after_gap,
    )
    .execute(conn)
    .await?;
    Ok(Some(after))
}

/// A chunk of the index.
#[derive(Debug, Clone)]
pub(super) struct StoredChunk {
    pub(super) number: i64,
    pub(super) object_key: String,
    pub(super) after_gap: bool,
    pub(super) first_time: i64,
    pub(super) first_sequence: i32,
}

impl StoredChunk {
    pub(super) fn first(&self) -> Position {
        Position { time: self.first_time, sequence: self.first_sequence }
    }
}

/// Returns the chunks of a tenant's log that have lines after a position and follow the chunk `number`, in order.
pub(super) async fn chunks(
    conn: &mut PgConnection,
    tenant: TenantId,
    log: (InstanceId, i64),
    position: Position,
    number: i64,
    limit: i64,
) -> sqlx::Result<Vec<StoredChunk>> {
    sqlx::query_as!(
        StoredChunk,
        "select number, object_key, after_gap, first_time, first_sequence from log_chunks
         where tenant_id = $1 and instance_id = $2 and attempt = $3 and (last_time, last_sequence) > ($4, $5::int)
             and number > $6
         order by number limit $7",
        tenant as TenantId,
        log.0 as InstanceId,
        log.1,
        position.time,
        position.sequence,
        number,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Where the last lines of a log begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TailStart {
    /// The chunk with the first of them.
    pub(super) number: i64,
    /// Lines of this chunk before them.
    pub(super) skip: i64,
}

/// Returns where the last `lines` lines begin; none if there are no more than that.
pub(super) async fn tail_start(
    conn: &mut PgConnection,
    tenant: TenantId,
    log: (InstanceId, i64),
    lines: i64,
) -> sqlx::Result<Option<TailStart>> {
    sqlx::query_as!(
        TailStart,
        r#"select number, counted - $4 as "skip!" from (
               select number, lines, sum(lines) over (order by number desc) as counted from log_chunks
               where tenant_id = $1 and instance_id = $2 and attempt = $3) as chunks
           where counted > $4 and counted - lines <= $4
           order by number limit 1"#,
        tenant as TenantId,
        log.0 as InstanceId,
        log.1,
        lines,
    )
    .fetch_optional(conn)
    .await
}

/// Returns the approximate number of bytes of text in a tenant's log after a position.
pub(super) async fn text_bytes(
    conn: &mut PgConnection,
    tenant: TenantId,
    log: (InstanceId, i64),
    position: Position,
) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        r#"select coalesce(sum(text_bytes), 0)::bigint as "bytes!" from log_chunks
           where tenant_id = $1 and instance_id = $2 and attempt = $3 and (last_time, last_sequence) > ($4, $5::int)"#,
        tenant as TenantId,
        log.0 as InstanceId,
        log.1,
        position.time,
        position.sequence,
    )
    .fetch_one(conn)
    .await
}

/// The kept log of one attempt.
#[derive(Debug)]
pub(super) struct KeptLog {
    pub(super) attempt: i64,
    pub(super) first_time: i64,
    pub(super) last_time: i64,
    pub(super) lines: i64,
    pub(super) text_bytes: i64,
    pub(super) bytes: i64,
    pub(super) has_gaps: bool,
}

/// Returns a tenant's kept logs of an instance before the attempt `before`, newest first.
pub(super) async fn kept(
    conn: &mut PgConnection,
    tenant: TenantId,
    instance: InstanceId,
    before: Option<i64>,
    limit: i64,
) -> sqlx::Result<Vec<KeptLog>> {
    sqlx::query_as!(
        KeptLog,
        r#"select attempt, min(first_time) as "first_time!", max(last_time) as "last_time!",
                  sum(lines)::bigint as "lines!", sum(text_bytes)::bigint as "text_bytes!",
                  sum(bytes)::bigint as "bytes!", bool_or(after_gap) as "has_gaps!"
           from log_chunks
           where tenant_id = $1 and instance_id = $2 and ($3::bigint is null or attempt < $3)
           group by attempt order by attempt desc limit $4"#,
        tenant as TenantId,
        instance as InstanceId,
        before,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// A chunk that is to be deleted.
#[derive(Debug)]
pub(super) struct OldChunk {
    pub(super) instance_id: InstanceId,
    pub(super) attempt: i64,
    pub(super) number: i64,
    pub(super) object_key: String,
}

/// Returns the oldest chunks that are older than `seconds`.
pub(super) async fn expired(
    conn: &mut PgConnection,
    seconds: f64,
    limit: i64,
) -> sqlx::Result<Vec<OldChunk>> {
    sqlx::query_as!(
        OldChunk,
        "select instance_id, attempt, number, object_key from log_chunks
         where created_at < now() - make_interval(secs => $1)
         order by created_at limit $2",
        seconds,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Returns the oldest chunks of an instance whose deletion leaves at most `bytes`.
pub(super) async fn excess(
    conn: &mut PgConnection,
    instance: InstanceId,
    bytes: i64,
    limit: i64,
) -> sqlx::Result<Vec<OldChunk>> {
    sqlx::query_as!(
        OldChunk,
        "select instance_id, attempt, number, object_key from (
             select instance_id, attempt, number, object_key,
                    sum(bytes) over (order by attempt desc, number desc) as counted
             from log_chunks where instance_id = $1) as chunks
         where counted > $2
         order by attempt, number limit $3",
        instance as InstanceId,
        bytes,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Deletes a chunk from the index.
pub(super) async fn delete_chunk(conn: &mut PgConnection, chunk: &OldChunk) -> sqlx::Result<()> {
    sqlx::query!(
        "delete from log_chunks where instance_id = $1 and attempt = $2 and number = $3",
        chunk.instance_id as InstanceId,
        chunk.attempt,
        chunk.number,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// An instance that is deleted and has logs.
#[derive(Debug)]
pub(super) struct Orphaned {
    pub(super) instance_id: InstanceId,
    pub(super) tenant_id: TenantId,
}

/// Returns deleted instances that have logs.
pub(super) async fn of_deleted_instances(conn: &mut PgConnection, limit: i64) -> sqlx::Result<Vec<Orphaned>> {
    sqlx::query_as!(
        Orphaned,
        r#"select distinct l.instance_id, l.tenant_id from instance_logs l join instances i on i.id = l.instance_id
           where i.state = 'deleted' limit $1"#,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Returns deleted instances of a tenant that have logs.
pub(super) async fn of_tenant(
    conn: &mut PgConnection,
    tenant: TenantId,
    limit: i64,
) -> sqlx::Result<Vec<Orphaned>> {
    sqlx::query_as!(
        Orphaned,
        r#"select distinct l.instance_id, l.tenant_id from instance_logs l join instances i on i.id = l.instance_id
           where l.tenant_id = $1 and i.state = 'deleted' limit $2"#,
        tenant as TenantId,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Deletes the logs of an instance with their chunks from the index.
pub(super) async fn delete_logs(conn: &mut PgConnection, instance: InstanceId) -> sqlx::Result<()> {
    sqlx::query!("delete from instance_logs where instance_id = $1", instance as InstanceId)
        .execute(conn)
        .await
        .map(drop)
}
