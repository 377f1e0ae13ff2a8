//! The session cookie of an instance, and the rules for all other cookies.

use anyhow::Context;
use auth::Grant;
use axum::http::{HeaderMap, HeaderValue, header};
use base64::{Engine, engine::general_purpose::STANDARD};
use gpu_api::HostLabel;
use ids::{InstanceId, SessionId, ShareLinkId, TenantId, UserId};
use jiff::Timestamp;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, decode_header, encode};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use crate::refusal::Refusal;

/// A key that signs cookies.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CookieKey {
    /// Name of the key, stored in the cookie.
    pub id: String,
    /// At least 32 random bytes in base64.
    pub key: SecretString,
}

/// How long a session lasts, in seconds.
const LIFE: i64 = 8 * 3600;
const _: () = assert!(LIFE.cast_unsigned() < auth::RETENTION.as_secs(), "no cookie outlives its revocation");
const AUDIENCE: &str = "atelier-instance";
/// With `https`: browsers accept a cookie with this prefix only from its own host and only for it.
const SECURE_NAME: &str = "__Host-atelier";
const PLAIN_NAME: &str = "atelier_session";

/// The right of a user of a tenant to use an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Session {
    /// The host name that it is for.
    pub(super) host: HostLabel,
    pub(super) tenant: TenantId,
    pub(super) user: UserId,
    /// The session in which the instance was opened.
    pub(super) session: Option<SessionId>,
    /// Issue time of the access token that opened it.
    pub(super) rights_at: Timestamp,
    /// The link that opened it; `user` and `rights_at` are then those of the link.
    pub(super) share: Option<Share>,
    /// The person who opened a link for one person.
    pub(super) person: Option<Person>,
}

/// The person for whom a share link is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Person {
    pub(super) user: UserId,
    /// The session in which the link was opened.
    pub(super) session: Option<SessionId>,
    /// Issue time of the access token that opened it.
    pub(super) rights_at: Timestamp,
}

/// A share link and its end, after which all its connections are closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) link: ShareLinkId,
    pub(super) expires_at: Timestamp,
}

impl Session {
    /// Returns the revocable rights on which the cookie depends: those of its user or of the user who created the link,
    /// and those of the person who opened it.
    pub(super) fn grants(&self) -> (Grant, Option<Grant>) {
        let own = Grant {
            user: self.user,
            tenant: Some(self.tenant),
            session: self.session,
            issued_at: self.rights_at,
        };
        let person = self.person.map(|person| Grant {
            user: person.user,
            tenant: None,
            session: person.session,
            issued_at: person.rights_at,
        });
        (own, person)
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Claims {
    aud: String,
    sub: UserId,
    tid: TenantId,
    iid: InstanceId,
    /// The public port; none for that of the service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    port: Option<u16>,
    #[serde(default)]
    sid: Option<SessionId>,
    rights_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    share: Option<ShareLinkId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    person: Option<Person>,
    exp: i64,
}

/// Signs, finds and removes session cookies.
pub(super) struct Cookies {
    signing_key: EncodingKey,
    signing_key_id: String,
    verification_keys: Vec<VerificationKey>,
    validation: Validation,
    secure: bool,
}

struct VerificationKey {
    id: String,
    key: DecodingKey,
}

impl Cookies {
    /// # Errors
    /// If there is no key, or one has fewer than 32 bytes.
    pub(super) fn new(keys: &[CookieKey], secure: bool) -> anyhow::Result<Self> {
        let keys =
            keys.iter()
                .map(|key| {
                    let bytes = STANDARD
                        .decode(key.key.expose_secret())
                        .ok()
                        .filter(|bytes| bytes.len() >= 32)
                        .with_context(|| format!("cookie_keys: {:?} is not 32 bytes in base64", key.id))?;
                    Ok((key.id.clone(), bytes))
                })
                .collect::<anyhow::Result<Vec<_>>>()?;
        let (id, first) = keys.first().context("cookie_keys: at least one key is needed")?;
        let mut validation = Validation::new(Algorithm::HS256);
        validation.set_audience(&[AUDIENCE]);
        validation.set_required_spec_claims(&["exp", "aud", "sub"]);
        validation.leeway = 0;
        Ok(Self {
            signing_key: EncodingKey::from_secret(first),
            signing_key_id: id.clone(),
            verification_keys: keys
                .iter()
                .map(|(id, key)| VerificationKey { id: id.clone(), key: DecodingKey::from_secret(key) })
                .collect(),
            validation,
            secure,
        })
    }

    fn name(&self) -> &'static str {
        if self.secure { SECURE_NAME } else { PLAIN_NAME }
    }

    /// The `Set-Cookie` header that begins a session now.
    ///
    /// # Errors
    /// If the token cannot be signed.
    pub(super) fn set(&self, session: Session, now: Timestamp) -> Result<HeaderValue, Refusal> {
        let now = now.as_second();
        let life = session.share.map_or(LIFE, |share| LIFE.min(share.expires_at.as_second() - now));
        let claims = Claims {
            aud: AUDIENCE.to_owned(),
            sub: session.user,
            tid: session.tenant,
            iid: session.host.instance,
            port: session.host.port,
            sid: session.session,
            rights_at: session.rights_at,
            share: session.share.map(|share| share.link),
            person: session.person,
            exp: now + life,
        };
        let header = Header { kid: Some(self.signing_key_id.clone()), ..Header::new(Algorithm::HS256) };
        let token = encode(&header, &claims, &self.signing_key).map_err(Refusal::internal)?;
        let secure = if self.secure { "; Secure" } else { "" };
        let text = format!("{}={token}; Path=/; Max-Age={life}; HttpOnly; SameSite=Lax{secure}", self.name());
        HeaderValue::from_str(&text).map_err(Refusal::internal)
    }

    /// Returns the session for `host` among the request's cookies. Several may have our name (see the parent
    /// module); one valid cookie is enough.
    pub(super) fn find(&self, headers: &HeaderMap, host: HostLabel) -> Option<Session> {
        pairs(headers)
            .filter_map(|pair| pair.strip_prefix(self.name().as_bytes())?.strip_prefix(b"="))
            .filter_map(|token| self.verify(std::str::from_utf8(token).ok()?))
            .find(|session| session.host == host)
    }

    fn verify(&self, token: &str) -> Option<Session> {
        let kid = decode_header(token).ok()?.kid?;
        let key = self.verification_keys.iter().find(|key| key.id == kid)?;
        let claims = decode::<Claims>(token, &key.key, &self.validation).ok()?.claims;
        let share = match claims.share {
            Some(link) => Some(Share { link, expires_at: Timestamp::from_second(claims.exp).ok()? }),
            None => None,
        };
        Some(Session {
            share,
            person: claims.person,
            host: HostLabel { instance: claims.iid, port: claims.port },
            tenant: claims.tid,
            user: claims.sub,
            session: claims.sid,
            rights_at: claims.rights_at,
        })
    }

    /// Removes our cookies from a request: the instance must not see them.
    pub(super) fn remove(&self, headers: &mut HeaderMap) {
        let others: Vec<&[u8]> =
            pairs(headers).filter(|pair| !pair.is_empty() && !is_ours(name_of(pair))).collect();
        let others = HeaderValue::from_bytes(&others.join(b"; ".as_slice()));
        headers.remove(header::COOKIE);
        if let Ok(others) = others
            && !others.is_empty()
        {
            headers.insert(header::COOKIE, others);
        }
    }

    /// Drops cookies with our name from an instance's response, and removes `Domain` from all others.
    pub(super) fn guard(&self, headers: &mut HeaderMap) {
        let header::Entry::Occupied(set) = headers.entry(header::SET_COOKIE) else { return };
        let (name, values) = set.remove_entry_mult();
        let kept: Vec<HeaderValue> = values.filter_map(|value| guarded(&value)).collect();
        for value in kept {
            headers.append(name.clone(), value);
        }
    }
}

/// Whether this is our cookie's name, with `http` or `https`. Browsers ignore the case of the prefix.
fn is_ours(name: &[u8]) -> bool {
    [SECURE_NAME, PLAIN_NAME].iter().any(|own| own.as_bytes().eq_ignore_ascii_case(name))
}

/// The name of `name=value` or of an attribute.
fn name_of(pair: &[u8]) -> &[u8] {
    pair.split(|byte| *byte == b'=').next().unwrap_or_default().trim_ascii()
}

fn guarded(value: &HeaderValue) -> Option<HeaderValue> {
    let bytes = value.as_bytes();
    let mut parts = bytes.split(|byte| *byte == b';');
    let pair = parts.next()?;
    let name = name_of(pair);
    // browsers send a cookie without a name as its bare value, which may look like another cookie's pair
    if is_ours(name) || (name.is_empty() && pair.contains(&b'=')) {
        return None;
    }
    let attributes = parts.filter(|attribute| !name_of(attribute).eq_ignore_ascii_case(b"domain"));
    let kept: Vec<&[u8]> = std::iter::once(pair).chain(attributes).collect();
    HeaderValue::from_bytes(&kept.join(&b';')).ok()
}

/// The request's cookies, `name=value` each. Cookies of instances need not be ASCII.
fn pairs(headers: &HeaderMap) -> impl Iterator<Item = &[u8]> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b';'))
        .map(<[u8]>::trim_ascii)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(id: &str, byte: u8) -> CookieKey {
        CookieKey { id: id.to_owned(), key: STANDARD.encode([byte; 32]).into() }
    }

    fn session() -> Session {
        Session {
            host: HostLabel { instance: InstanceId::new(), port: None },
            tenant: TenantId::new(),
            user: UserId::new(),
            session: Some(SessionId::new()),
            rights_at: Timestamp::UNIX_EPOCH,
            share: None,
            person: None,
        }
    }

    fn request(cookies: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for cookie in cookies {
            headers.append(header::COOKIE, HeaderValue::from_str(cookie).unwrap());
        }
        headers
    }

    #[expect(clippy::disallowed_methods, reason = "tests run on the real clock")]
    fn set(cookies: &Cookies, session: Session) -> HeaderValue {
        cookies.set(session, Timestamp::now()).unwrap()
    }

    fn pair(set: &HeaderValue) -> String {
        set.to_str().unwrap().split(';').next().unwrap().to_owned()
    }

    #[test]
    fn a_cookie_is_valid_for_its_instance_only_and_survives_key_rotation() {
        let cookies = Cookies::new(&[key("a", 1)], false).unwrap();
        let (own, other) = (session(), session());
        let (mine, theirs) = (pair(&set(&cookies, own)), pair(&set(&cookies, other)));
        assert_eq!(cookies.find(&request(&[&mine]), own.host), Some(own));
        assert_eq!(cookies.find(&request(&[&theirs]), own.host), None);
        let port = Session { host: HostLabel { port: Some(8188), ..own.host }, ..own };
        assert_eq!(cookies.find(&request(&[&mine]), port.host), None);
        let of_port = pair(&set(&cookies, port));
        assert_eq!(cookies.find(&request(&[&of_port]), own.host), None);
        assert_eq!(cookies.find(&request(&[&of_port]), port.host), Some(port));
        let person = Person { user: UserId::new(), session: None, rights_at: Timestamp::UNIX_EPOCH };
        let share = Share { link: ShareLinkId::new(), expires_at: "9999-01-01T00:00:00Z".parse().unwrap() };
        let shared = Session { share: Some(share), person: Some(person), ..own };
        let found = cookies.find(&request(&[&pair(&set(&cookies, shared))]), own.host).unwrap();
        assert_eq!((found.person, found.share.map(|share| share.link)), (Some(person), Some(share.link)));
        let tossed = format!("a=b; {theirs}; atelier_session=rubbish; {mine}");
        assert_eq!(cookies.find(&request(&[&tossed]), own.host), Some(own), "cookies of siblings do no harm");
        let rotated = Cookies::new(&[key("b", 2), key("a", 1)], false).unwrap();
        assert_eq!(rotated.find(&request(&[&mine]), own.host), Some(own));
        let forged = Cookies::new(&[key("a", 9)], false).unwrap();
        assert_eq!(cookies.find(&request(&[&pair(&set(&forged, own))]), own.host), None);
    }

    #[test]
    fn with_https_the_cookie_is_bound_to_its_host() {
        let cookies = Cookies::new(&[key("a", 1)], true).unwrap();
        let header = set(&cookies, session());
        let text = header.to_str().unwrap();
        assert!(text.starts_with("__Host-atelier="));
        for attribute in ["; Secure", "; HttpOnly", "; Path=/", "; SameSite=Lax"] {
            assert!(text.contains(attribute), "{text}");
        }
        assert!(!text.contains("Domain"));
    }

    #[test]
    fn an_instance_neither_sees_nor_sets_our_cookie() {
        let cookies = Cookies::new(&[key("a", 1)], false).unwrap();
        let mut headers = request(&["a=1; atelier_session=x; b=2", "__Host-atelier=y"]);
        cookies.remove(&mut headers);
        assert_eq!(headers[header::COOKIE], "a=1; b=2");
        // cookies of the instance that are not ASCII stay unchanged, beside ours
        let own = session();
        let ours = pair(&set(&cookies, own));
        let odd = [b"name=J\xc3\xbcrgen; ".as_slice(), ours.as_bytes(), b"; raw=\xff"].concat();
        let mut headers = HeaderMap::new();
        headers.insert(header::COOKIE, HeaderValue::from_bytes(&odd).unwrap());
        assert_eq!(cookies.find(&headers, own.host), Some(own));
        cookies.remove(&mut headers);
        assert_eq!(headers[header::COOKIE].as_bytes(), b"name=J\xc3\xbcrgen; raw=\xff");

        let mut headers = request(&["atelier_session=x"]);
        cookies.remove(&mut headers);
        assert!(!headers.contains_key(header::COOKIE));

        let mut headers = HeaderMap::new();
        for set in [
            "a=1; Path=/; domain=.localhost; HttpOnly",
            "atelier_session=evil; Path=/",
            "__host-Atelier=evil",
            "=atelier_session=evil",
            "b=2",
        ] {
            headers.append(header::SET_COOKIE, HeaderValue::from_static(set));
        }
        cookies.guard(&mut headers);
        let kept: Vec<_> = headers.get_all(header::SET_COOKIE).iter().map(|v| v.to_str().unwrap()).collect();
        assert_eq!(kept, ["a=1; Path=/; HttpOnly", "b=2"]);
    }
}
