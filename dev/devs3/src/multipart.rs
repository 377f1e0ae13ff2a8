//! The multipart operations.

use std::io;
use std::path::PathBuf;

use s3s::crypto::{Checksum as _, Md5};
use s3s::dto::*;
use s3s::{S3Response, S3Result, s3_error};

use crate::error::{Failure, failed};
use crate::objects::{Headers, Meta, Objects};
use crate::rules::{Encoding, now_ms, precondition, time};
use crate::store::{Store, with_failures};
use crate::uploads::{self, StoredPart, Upload};

/// The minimum size of every part but the last, in bytes.
const LEAST_PART: u64 = 5 * 1024 * 1024;

impl Store {
    fn upload(&self, id: &str, bucket: &str, key: &str) -> S3Result<(PathBuf, Upload)> {
        uploads::find(&self.objects.uploads(), id, bucket, key).ok_or_else(|| s3_error!(NoSuchUpload))
    }

    pub(crate) fn create_upload(
        &self,
        input: CreateMultipartUploadInput,
    ) -> S3Result<S3Response<CreateMultipartUploadOutput>> {
        let id = uuid::Uuid::new_v4().simple().to_string();
        let upload = Upload {
            bucket: input.bucket.clone(),
            key: input.key.clone(),
            started_ms: now_ms(),
            headers: Headers {
                content_type: input.content_type,
                content_encoding: input.content_encoding,
                content_disposition: input.content_disposition,
                content_language: input.content_language,
                cache_control: input.cache_control,
                metadata: input.metadata.unwrap_or_default().into_iter().collect(),
            },
        };
        uploads::create(&self.objects.uploads(), &id, &upload).map_err(failed)?;
        Ok(S3Response::new(CreateMultipartUploadOutput {
            bucket: Some(input.bucket),
            key: Some(input.key),
            upload_id: Some(id),
            ..CreateMultipartUploadOutput::default()
        }))
    }

    pub(crate) async fn upload_part(&self, input: UploadPartInput) -> S3Result<S3Response<UploadPartOutput>> {
        if !(1..=10_000).contains(&input.part_number) {
            return Err(s3_error!(InvalidArgument));
        }
        let (folder, _) = self.upload(&input.upload_id, &input.bucket, &input.key)?;
        let Some(body) = input.body else {
            return Err(s3_error!(IncompleteBody));
        };
        let draft =
            self.objects.draft::<_, Failure>(with_failures(body)).await.map_err(|Failure(error)| error)?;
        let md5 = hex::encode(draft.md5);
        let number = input.part_number;
        let before = uploads::parts(&folder).map_err(failed)?;
        Objects::keep(&draft, &folder.join(format!("{number:05}.{md5}"))).map_err(failed)?;
        for old in before.iter().filter(|p| p.number == number && p.md5 != md5) {
            let _ = std::fs::remove_file(&old.path);
        }
        Ok(S3Response::new(UploadPartOutput {
            e_tag: Some(ETag::Strong(md5)),
            ..UploadPartOutput::default()
        }))
    }

    pub(crate) fn list_parts(&self, input: ListPartsInput) -> S3Result<S3Response<ListPartsOutput>> {
        let (folder, _) = self.upload(&input.upload_id, &input.bucket, &input.key)?;
        let max = input.max_parts.unwrap_or(1000).clamp(0, 1000);
        let marker = input.part_number_marker.unwrap_or_default();
        let mut rest = uploads::parts(&folder).map_err(failed)?;
        rest.retain(|part| part.number > marker);
        let more = rest.len() > usize::try_from(max).unwrap_or_default();
        rest.truncate(usize::try_from(max).unwrap_or_default());
        let last = rest.last().map(|part| part.number);
        let listed = rest.into_iter().map(|part| Part {
            part_number: Some(part.number),
            size: Some(part.size as i64),
            e_tag: Some(ETag::Strong(part.md5)),
            ..Part::default()
        });
        Ok(S3Response::new(ListPartsOutput {
            parts: Some(listed.collect()),
            is_truncated: Some(more),
            next_part_number_marker: last.filter(|_| more),
            max_parts: Some(max),
            bucket: Some(input.bucket),
            key: Some(input.key),
            upload_id: Some(input.upload_id),
            ..ListPartsOutput::default()
        }))
    }

    pub(crate) fn list_uploads(
        &self,
        input: ListMultipartUploadsInput,
    ) -> S3Result<S3Response<ListMultipartUploadsOutput>> {
        if input.delimiter.is_some() {
            return Err(s3_error!(NotImplemented));
        }
        let encoding = Encoding::new(input.encoding_type.as_ref());
        let max = input.max_uploads.unwrap_or(1000).clamp(0, 1000);
        let marker = (
            input.key_marker.clone().unwrap_or_default(),
            input.upload_id_marker.clone().unwrap_or_default(),
        );
        let mut found = uploads::of_bucket(&self.objects.uploads(), &input.bucket).map_err(failed)?;
        found.retain(|(id, upload)| {
            let behind = if marker.1.is_empty() {
                marker.0.is_empty() || upload.key > marker.0
            } else {
                (&upload.key, id) > (&marker.0, &marker.1)
            };
            behind && upload.key.starts_with(input.prefix.as_deref().unwrap_or_default())
        });
        let more = found.len() > usize::try_from(max).unwrap_or_default();
        found.truncate(usize::try_from(max).unwrap_or_default());
        let last = found.last().filter(|_| more);
        Ok(S3Response::new(ListMultipartUploadsOutput {
            is_truncated: Some(more),
            next_key_marker: last.map(|(_, upload)| encoding.of(upload.key.clone())),
            next_upload_id_marker: last.map(|(id, _)| id.clone()),
            uploads: Some(
                found
                    .into_iter()
                    .map(|(id, upload)| MultipartUpload {
                        upload_id: Some(id),
                        key: Some(encoding.of(upload.key)),
                        initiated: Some(time(upload.started_ms)),
                        ..MultipartUpload::default()
                    })
                    .collect(),
            ),
            bucket: Some(input.bucket),
            prefix: input.prefix.map(|prefix| encoding.of(prefix)),
            encoding_type: input.encoding_type,
            max_uploads: Some(max),
            ..ListMultipartUploadsOutput::default()
        }))
    }

    pub(crate) async fn complete_upload(
        &self,
        input: CompleteMultipartUploadInput,
    ) -> S3Result<S3Response<CompleteMultipartUploadOutput>> {
        let (folder, upload) = self.upload(&input.upload_id, &input.bucket, &input.key)?;
        let wanted = input.multipart_upload.and_then(|m| m.parts);
        let Some(wanted) = wanted.filter(|parts| !parts.is_empty()) else {
            return Err(s3_error!(MalformedXML));
        };
        let stored = uploads::parts(&folder).map_err(failed)?;
        let mut chosen = Vec::with_capacity(wanted.len());
        let mut tags = Md5::new();
        for part in &wanted {
            let tag = part.e_tag.as_ref().map(ETag::value);
            let found = stored
                .iter()
                .find(|s| Some(s.number) == part.part_number && tag.is_none_or(|tag| tag == s.md5));
            let Some(found) = found else {
                return Err(s3_error!(InvalidPart));
            };
            if chosen.last().is_some_and(|p: &&StoredPart| p.number >= found.number) {
                return Err(s3_error!(InvalidPartOrder));
            }
            if chosen.last().is_some_and(|p: &&StoredPart| p.size < LEAST_PART) {
                return Err(s3_error!(EntityTooSmall));
            }
            tags.update(&hex::decode(&found.md5).unwrap_or_default());
            chosen.push(found);
        }
        let total = chosen.iter().map(|part| part.size).sum();
        let used = self.objects.usage(&input.bucket);
        self.check_quota(&input.bucket, used, total)?;
        let (if_match, if_none_match) = (input.if_match.as_ref(), input.if_none_match.as_ref());
        let files = chosen.iter().map(|part| part.path.clone()).collect::<Vec<_>>();
        let draft =
            self.objects.draft::<_, io::Error>(Box::pin(uploads::joined(files))).await.map_err(failed)?;
        let etag = format!("{}-{}", hex::encode(tags.finalize()), chosen.len());
        let meta = Meta {
            key: upload.key,
            size: draft.size,
            etag: etag.clone(),
            modified_ms: now_ms(),
            headers: upload.headers,
            readers: Vec::new(),
        };
        self.objects
            .commit::<Failure>(&input.bucket, &draft, meta, |there, used| {
                precondition(there, if_match, if_none_match)?;
                Ok(self.check_quota(&input.bucket, used, draft.size)?)
            })
            .map_err(|Failure(error)| error)?;
        std::fs::remove_dir_all(&folder).map_err(failed)?;
        Ok(S3Response::new(CompleteMultipartUploadOutput {
            e_tag: Some(ETag::Strong(etag)),
            bucket: Some(input.bucket),
            key: Some(input.key),
            ..CompleteMultipartUploadOutput::default()
        }))
    }

    pub(crate) fn abort_upload(
        &self,
        input: &AbortMultipartUploadInput,
    ) -> S3Result<S3Response<AbortMultipartUploadOutput>> {
        let (folder, _) = self.upload(&input.upload_id, &input.bucket, &input.key)?;
        std::fs::remove_dir_all(folder).map_err(failed)?;
        Ok(S3Response::with_status(AbortMultipartUploadOutput::default(), http::StatusCode::NO_CONTENT))
    }
}
