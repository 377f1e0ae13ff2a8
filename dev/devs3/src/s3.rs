//! The S3 operations.

use std::io;
use std::sync::Arc;

use http::StatusCode;
use s3s::dto::*;
use s3s::{S3, S3Request, S3Response, S3Result, s3_error};
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};

use crate::access::{owned, uid};
use crate::cors_rule;
use crate::error::{Failure, failed};
use crate::objects::{Headers, Meta, Page};
use crate::rules::{Encoding, check_md5, now_ms, precondition, readable, time};
use crate::state::{Bucket as BucketState, Quota};
use crate::store::{Store, with_failures};

pub(crate) struct Api(pub(crate) Arc<Store>);

fn object(meta: &Meta, encoding: Encoding) -> Object {
    Object {
        key: Some(encoding.of(meta.key.clone())),
        size: Some(meta.size as i64),
        e_tag: Some(ETag::Strong(meta.etag.clone())),
        last_modified: Some(time(meta.modified_ms)),
        storage_class: Some(ObjectStorageClass::from_static(ObjectStorageClass::STANDARD)),
        ..Object::default()
    }
}

fn metadata(headers: &Headers) -> Option<Metadata> {
    (!headers.metadata.is_empty()).then(|| headers.metadata.clone().into_iter().collect())
}

#[async_trait::async_trait]
impl S3 for Api {
    async fn create_bucket(
        &self,
        req: S3Request<CreateBucketInput>,
    ) -> S3Result<S3Response<CreateBucketOutput>> {
        let uid = uid(&req)?;
        let name = req.input.bucket;
        self.0
            .state
            .change(|document| {
                let limit = document.users.get(&uid).map_or(0, |u| u.max_buckets);
                let count = document.owned_by(&uid).count();
                match document.buckets.get(&name) {
                    Some(there) if there.owner != uid => {
                        return Err(Failure(s3_error!(BucketAlreadyExists)));
                    }
                    Some(_) => return Ok(()),
                    None if limit < 0 => return Err(Failure(s3_error!(AccessDenied))),
                    None if limit > 0 && count as i64 >= limit => {
                        return Err(Failure(s3_error!(TooManyBuckets)));
                    }
                    None => {}
                }
                let bucket = BucketState {
                    owner: uid.clone(),
                    id: uuid::Uuid::new_v4().to_string(),
                    created: jiff::Timestamp::now(),
                    quota: Quota::default(),
                    cors: Vec::new(),
                };
                document.buckets.insert(name.clone(), bucket);
                Ok(())
            })
            .map_err(|Failure(error)| error)?;
        self.0.objects.add_bucket(&name).map_err(failed)?;
        Ok(S3Response::new(CreateBucketOutput::default()))
    }

    async fn delete_bucket(
        &self,
        req: S3Request<DeleteBucketInput>,
    ) -> S3Result<S3Response<DeleteBucketOutput>> {
        self.0.delete_bucket(&req.input.bucket, false)?;
        Ok(S3Response::with_status(DeleteBucketOutput {}, StatusCode::NO_CONTENT))
    }

    async fn head_bucket(&self, _: S3Request<HeadBucketInput>) -> S3Result<S3Response<HeadBucketOutput>> {
        Ok(S3Response::new(HeadBucketOutput::default()))
    }

    async fn get_bucket_location(
        &self,
        _: S3Request<GetBucketLocationInput>,
    ) -> S3Result<S3Response<GetBucketLocationOutput>> {
        Ok(S3Response::new(GetBucketLocationOutput {
            location_constraint: Some(self.0.region.clone().into()),
        }))
    }

    async fn put_bucket_cors(
        &self,
        req: S3Request<PutBucketCorsInput>,
    ) -> S3Result<S3Response<PutBucketCorsOutput>> {
        let rules = cors_rule::rules(req.input.cors_configuration.cors_rules)?;
        self.0.set_cors(&req.input.bucket, rules)?;
        Ok(S3Response::new(PutBucketCorsOutput {}))
    }

    async fn get_bucket_cors(
        &self,
        req: S3Request<GetBucketCorsInput>,
    ) -> S3Result<S3Response<GetBucketCorsOutput>> {
        let document = self.0.state.read();
        let rules = document.buckets.get(&req.input.bucket).map_or(&[][..], |bucket| &bucket.cors);
        if rules.is_empty() {
            return Err(s3_error!(NoSuchCORSConfiguration));
        }
        Ok(S3Response::new(GetBucketCorsOutput { cors_rules: Some(cors_rule::shown(rules)) }))
    }

    async fn delete_bucket_cors(
        &self,
        req: S3Request<DeleteBucketCorsInput>,
    ) -> S3Result<S3Response<DeleteBucketCorsOutput>> {
        self.0.set_cors(&req.input.bucket, Vec::new())?;
        Ok(S3Response::with_status(DeleteBucketCorsOutput {}, StatusCode::NO_CONTENT))
    }

    async fn list_buckets(
        &self,
        req: S3Request<ListBucketsInput>,
    ) -> S3Result<S3Response<ListBucketsOutput>> {
        let uid = uid(&req)?;
        let document = self.0.state.read();
        let buckets = document
            .owned_by(&uid)
            .map(|(name, bucket)| Bucket {
                name: Some(name.clone()),
                creation_date: Some(time(bucket.created.as_millisecond())),
                ..Bucket::default()
            })
            .collect();
        let owner = Owner {
            display_name: document.users.get(&uid).map(|u| u.display_name.clone()),
            id: Some(uid.clone()),
        };
        Ok(S3Response::new(ListBucketsOutput {
            buckets: Some(buckets),
            owner: Some(owner),
            ..ListBucketsOutput::default()
        }))
    }

    async fn list_objects(
        &self,
        req: S3Request<ListObjectsInput>,
    ) -> S3Result<S3Response<ListObjectsOutput>> {
        let input = req.input;
        let encoding = Encoding::new(input.encoding_type.as_ref());
        let max = input.max_keys.unwrap_or(1000).clamp(0, 1000);
        let page = self.0.page(
            &input.bucket,
            input.prefix.as_deref(),
            input.delimiter.as_deref(),
            input.marker.as_deref(),
            max,
        );
        Ok(S3Response::new(ListObjectsOutput {
            is_truncated: Some(page.next.is_some()),
            contents: Some(page.objects.iter().map(|m| object(m, encoding)).collect()),
            common_prefixes: Some(folded(&page, encoding)),
            next_marker: page.next.filter(|_| input.delimiter.is_some()).map(|next| encoding.of(next)),
            name: Some(input.bucket),
            prefix: input.prefix.map(|prefix| encoding.of(prefix)),
            marker: input.marker.map(|marker| encoding.of(marker)),
            delimiter: input.delimiter.map(|delimiter| encoding.of(delimiter)),
            encoding_type: input.encoding_type,
            max_keys: Some(max),
            ..ListObjectsOutput::default()
        }))
    }

    async fn list_objects_v2(
        &self,
        req: S3Request<ListObjectsV2Input>,
    ) -> S3Result<S3Response<ListObjectsV2Output>> {
        let input = req.input;
        let encoding = Encoding::new(input.encoding_type.as_ref());
        let max = input.max_keys.unwrap_or(1000).clamp(0, 1000);
        // encoded, as XML cannot hold every name
        let token = input.continuation_token.as_deref().map(hex::decode).transpose();
        let token = token.map_err(|_| s3_error!(InvalidArgument))?;
        let token = token.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let after = token.as_deref().or(input.start_after.as_deref());
        let page =
            self.0.page(&input.bucket, input.prefix.as_deref(), input.delimiter.as_deref(), after, max);
        Ok(S3Response::new(ListObjectsV2Output {
            is_truncated: Some(page.next.is_some()),
            key_count: Some((page.objects.len() + page.prefixes.len()) as i32),
            contents: Some(page.objects.iter().map(|m| object(m, encoding)).collect()),
            common_prefixes: Some(folded(&page, encoding)),
            next_continuation_token: page.next.map(hex::encode),
            name: Some(input.bucket),
            prefix: input.prefix.map(|prefix| encoding.of(prefix)),
            delimiter: input.delimiter.map(|delimiter| encoding.of(delimiter)),
            encoding_type: input.encoding_type,
            max_keys: Some(max),
            continuation_token: input.continuation_token,
            start_after: input.start_after.map(|after| encoding.of(after)),
            ..ListObjectsV2Output::default()
        }))
    }

    async fn put_object(&self, req: S3Request<PutObjectInput>) -> S3Result<S3Response<PutObjectOutput>> {
        let input = req.input;
        let body = input.body.unwrap_or_else(|| StreamingBlob::from(s3s::Body::empty()));
        let expected = u64::try_from(input.content_length.unwrap_or_default()).unwrap_or_default();
        let used = self.0.objects.usage(&input.bucket);
        self.0.check_quota(&input.bucket, used, expected)?;
        let there = self.0.objects.meta(&input.bucket, &input.key);
        let (if_match, if_none_match) = (input.if_match.as_ref(), input.if_none_match.as_ref());
        precondition(there.as_deref(), if_match, if_none_match)?;
        let draft =
            self.0.objects.draft::<_, Failure>(with_failures(body)).await.map_err(|Failure(error)| error)?;
        check_md5(input.content_md5.as_deref(), draft.md5)?;
        let meta = Meta {
            key: input.key,
            size: draft.size,
            etag: hex::encode(draft.md5),
            modified_ms: now_ms(),
            headers: Headers {
                content_type: input.content_type,
                content_encoding: input.content_encoding,
                content_disposition: input.content_disposition,
                content_language: input.content_language,
                cache_control: input.cache_control,
                metadata: input.metadata.unwrap_or_default().into_iter().collect(),
            },
            readers: Vec::new(),
        };
        let made = self
            .0
            .objects
            .commit::<Failure>(&input.bucket, &draft, meta, |there, used| {
                precondition(there, if_match, if_none_match)?;
                Ok(self.0.check_quota(&input.bucket, used, draft.size)?)
            })
            .map_err(|Failure(error)| error)?;
        Ok(S3Response::new(PutObjectOutput {
            e_tag: Some(ETag::Strong(made.etag.clone())),
            ..PutObjectOutput::default()
        }))
    }

    async fn get_object(&self, req: S3Request<GetObjectInput>) -> S3Result<S3Response<GetObjectOutput>> {
        let input = req.input;
        if input.version_id.is_some() || input.part_number.is_some() {
            return Err(s3_error!(NotImplemented));
        }
        let Some((meta, file)) = self.0.objects.read(&input.bucket, &input.key).map_err(failed)? else {
            return Err(s3_error!(NoSuchKey));
        };
        readable(
            &meta,
            input.if_match.as_ref(),
            input.if_none_match.as_ref(),
            input.if_modified_since.as_ref(),
            input.if_unmodified_since.as_ref(),
        )?;
        let (range, content_range) = match input.range {
            None => (0..meta.size, None),
            Some(range) => {
                let range = range.check(meta.size).map_err(|_| s3_error!(InvalidRange))?;
                let text = format!("bytes {}-{}/{}", range.start, range.end - 1, meta.size);
                (range, Some(text))
            }
        };
        let mut file = tokio::fs::File::from_std(file);
        file.seek(io::SeekFrom::Start(range.start)).await.map_err(failed)?;
        let length = range.end - range.start;
        let body = tokio_util::io::ReaderStream::with_capacity(file.take(length), 64 * 1024);
        let headers = &meta.headers;
        let output = GetObjectOutput {
            body: Some(StreamingBlob::wrap(body)),
            content_length: Some(length as i64),
            accept_ranges: Some("bytes".to_owned()),
            e_tag: Some(ETag::Strong(meta.etag.clone())),
            last_modified: Some(time(meta.modified_ms)),
            content_type: input.response_content_type.or_else(|| content_type(headers)),
            content_encoding: input.response_content_encoding.or_else(|| headers.content_encoding.clone()),
            content_disposition: input
                .response_content_disposition
                .or_else(|| headers.content_disposition.clone()),
            content_language: input.response_content_language.or_else(|| headers.content_language.clone()),
            cache_control: input.response_cache_control.or_else(|| headers.cache_control.clone()),
            metadata: metadata(headers),
            content_range: content_range.clone(),
            ..GetObjectOutput::default()
        };
        let status = if content_range.is_some() { StatusCode::PARTIAL_CONTENT } else { StatusCode::OK };
        Ok(S3Response::with_status(output, status))
    }

    async fn head_object(&self, req: S3Request<HeadObjectInput>) -> S3Result<S3Response<HeadObjectOutput>> {
        let input = req.input;
        if input.version_id.is_some() || input.part_number.is_some() || input.range.is_some() {
            return Err(s3_error!(NotImplemented));
        }
        let meta = self.0.found(&input.bucket, &input.key)?;
        readable(
            &meta,
            input.if_match.as_ref(),
            input.if_none_match.as_ref(),
            input.if_modified_since.as_ref(),
            input.if_unmodified_since.as_ref(),
        )?;
        let headers = &meta.headers;
        Ok(S3Response::new(HeadObjectOutput {
            content_length: Some(meta.size as i64),
            accept_ranges: Some("bytes".to_owned()),
            e_tag: Some(ETag::Strong(meta.etag.clone())),
            last_modified: Some(time(meta.modified_ms)),
            content_type: content_type(headers),
            content_encoding: headers.content_encoding.clone(),
            content_disposition: headers.content_disposition.clone(),
            content_language: headers.content_language.clone(),
            cache_control: headers.cache_control.clone(),
            metadata: metadata(headers),
            ..HeadObjectOutput::default()
        }))
    }

    async fn copy_object(&self, req: S3Request<CopyObjectInput>) -> S3Result<S3Response<CopyObjectOutput>> {
        let uid = uid(&req)?;
        let input = req.input;
        let CopySource::Bucket { bucket, key, version_id: None } = &input.copy_source else {
            return Err(s3_error!(NotImplemented));
        };
        self.0.check_readable(bucket, key, &uid)?;
        let Some((source, file)) = self.0.objects.read(bucket, key).map_err(failed)? else {
            return Err(s3_error!(NoSuchKey));
        };
        precondition(
            Some(&source),
            input.copy_source_if_match.as_ref(),
            input.copy_source_if_none_match.as_ref(),
        )?;
        let body = tokio::fs::File::from_std(file).take(source.size);
        let draft = self
            .0
            .objects
            .draft::<_, io::Error>(tokio_util::io::ReaderStream::new(body))
            .await
            .map_err(failed)?;
        let replace = input.metadata_directive.as_ref().map(MetadataDirective::as_str)
            == Some(MetadataDirective::REPLACE);
        let headers = if replace {
            Headers {
                content_type: input.content_type,
                content_encoding: input.content_encoding,
                content_disposition: input.content_disposition,
                content_language: input.content_language,
                cache_control: input.cache_control,
                metadata: input.metadata.unwrap_or_default().into_iter().collect(),
            }
        } else {
            source.headers.clone()
        };
        let meta = Meta {
            key: input.key,
            size: draft.size,
            etag: source.etag.clone(),
            modified_ms: now_ms(),
            headers,
            readers: Vec::new(),
        };
        let made = self
            .0
            .objects
            .commit::<Failure>(&input.bucket, &draft, meta, |_, used| {
                Ok(self.0.check_quota(&input.bucket, used, draft.size)?)
            })
            .map_err(|Failure(error)| error)?;
        Ok(S3Response::new(CopyObjectOutput {
            copy_object_result: Some(CopyObjectResult {
                e_tag: Some(ETag::Strong(made.etag.clone())),
                last_modified: Some(time(made.modified_ms)),
                ..CopyObjectResult::default()
            }),
            ..CopyObjectOutput::default()
        }))
    }

    /// Lets one user read the object, besides the owner of the bucket.
    async fn put_object_acl(
        &self,
        req: S3Request<PutObjectAclInput>,
    ) -> S3Result<S3Response<PutObjectAclOutput>> {
        let uid = uid(&req)?;
        let input = req.input;
        let has_others = input.acl.is_some()
            || input.access_control_policy.is_some()
            || input.grant_read_acp.is_some()
            || input.grant_write.is_some()
            || input.grant_write_acp.is_some()
            || input.version_id.is_some();
        let (Some(owner), Some(reader), false) = (input.grant_full_control, input.grant_read, has_others)
        else {
            return Err(s3_error!(NotImplemented));
        };
        if self.0.grantee(&owner)? != uid {
            return Err(s3_error!(NotImplemented));
        }
        let reader = self.0.grantee(&reader)?;
        let Some((there, file)) = self.0.objects.read(&input.bucket, &input.key).map_err(failed)? else {
            return Err(s3_error!(NoSuchKey));
        };
        let body = tokio::fs::File::from_std(file).take(there.size);
        let body = tokio_util::io::ReaderStream::new(body);
        let draft = self.0.objects.draft::<_, io::Error>(body).await.map_err(failed)?;
        let meta = Meta { readers: vec![reader], ..(*there).clone() };
        self.0
            .objects
            .commit::<Failure>(&input.bucket, &draft, meta, |now, _| {
                let is_same = now.is_some_and(|now| now.etag == there.etag);
                if is_same { Ok(()) } else { Err(Failure(s3_error!(OperationAborted))) }
            })
            .map_err(|Failure(error)| error)?;
        Ok(S3Response::new(PutObjectAclOutput::default()))
    }

    async fn delete_object(
        &self,
        req: S3Request<DeleteObjectInput>,
    ) -> S3Result<S3Response<DeleteObjectOutput>> {
        if req.input.version_id.is_some() {
            return Err(s3_error!(NotImplemented));
        }
        self.0.objects.remove(&req.input.bucket, &req.input.key).map_err(failed)?;
        Ok(S3Response::with_status(DeleteObjectOutput::default(), StatusCode::NO_CONTENT))
    }

    async fn delete_objects(
        &self,
        req: S3Request<DeleteObjectsInput>,
    ) -> S3Result<S3Response<DeleteObjectsOutput>> {
        let input = req.input;
        if input.delete.objects.len() > 1000 {
            return Err(s3_error!(MalformedXML));
        }
        let mut deleted = Vec::new();
        for object in input.delete.objects {
            self.0.objects.remove(&input.bucket, &object.key).map_err(failed)?;
            deleted.push(DeletedObject { key: Some(object.key), ..DeletedObject::default() });
        }
        let quiet = input.delete.quiet.unwrap_or_default();
        Ok(S3Response::new(DeleteObjectsOutput {
            deleted: Some(deleted).filter(|_| !quiet),
            ..DeleteObjectsOutput::default()
        }))
    }

    async fn create_multipart_upload(
        &self,
        req: S3Request<CreateMultipartUploadInput>,
    ) -> S3Result<S3Response<CreateMultipartUploadOutput>> {
        self.0.create_upload(req.input)
    }

    async fn upload_part(&self, req: S3Request<UploadPartInput>) -> S3Result<S3Response<UploadPartOutput>> {
        self.0.upload_part(req.input).await
    }

    async fn list_parts(&self, req: S3Request<ListPartsInput>) -> S3Result<S3Response<ListPartsOutput>> {
        self.0.list_parts(req.input)
    }

    async fn list_multipart_uploads(
        &self,
        req: S3Request<ListMultipartUploadsInput>,
    ) -> S3Result<S3Response<ListMultipartUploadsOutput>> {
        self.0.list_uploads(req.input)
    }

    async fn complete_multipart_upload(
        &self,
        req: S3Request<CompleteMultipartUploadInput>,
    ) -> S3Result<S3Response<CompleteMultipartUploadOutput>> {
        self.0.complete_upload(req.input).await
    }

    async fn abort_multipart_upload(
        &self,
        req: S3Request<AbortMultipartUploadInput>,
    ) -> S3Result<S3Response<AbortMultipartUploadOutput>> {
        self.0.abort_upload(&req.input)
    }
}

fn content_type(headers: &Headers) -> Option<String> {
    Some(headers.content_type.clone().unwrap_or_else(|| "binary/octet-stream".to_owned()))
}

fn folded(page: &Page, encoding: Encoding) -> Vec<CommonPrefix> {
    let prefixes = page.prefixes.iter();
    prefixes.map(|prefix| CommonPrefix { prefix: Some(encoding.of(prefix.clone())) }).collect()
}

impl Store {
    /// The user whom `id="…"` names.
    fn grantee(&self, grant: &str) -> S3Result<String> {
        let uid =
            grant.trim().strip_prefix("id=").ok_or_else(|| s3_error!(NotImplemented))?.trim_matches('"');
        let is_known = self.state.read().users.contains_key(uid);
        if is_known { Ok(uid.to_owned()) } else { Err(s3_error!(InvalidArgument)) }
    }

    /// Checks that a user may read an object.
    pub(crate) fn check_readable(&self, bucket: &str, key: &str, uid: &str) -> S3Result<()> {
        let is_reader = |meta: Arc<Meta>| meta.readers.iter().any(|reader| reader == uid);
        let is_owner = owned(&self.state.read(), bucket, uid);
        match is_owner {
            Err(error) if !self.objects.meta(bucket, key).is_some_and(is_reader) => Err(error),
            _ => Ok(()),
        }
    }

    fn found(&self, bucket: &str, key: &str) -> S3Result<Arc<Meta>> {
        self.objects.meta(bucket, key).ok_or_else(|| s3_error!(NoSuchKey))
    }

    fn page(
        &self,
        bucket: &str,
        prefix: Option<&str>,
        delimiter: Option<&str>,
        after: Option<&str>,
        max: i32,
    ) -> Page {
        let after = after.filter(|a| !a.is_empty());
        let max = usize::try_from(max).unwrap_or_default();
        self.objects.list(bucket, prefix.unwrap_or_default(), delimiter, after, max)
    }
}
