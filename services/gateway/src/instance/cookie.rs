//! The cookie that opens one instance, and the cookies that pass by.

use ::api::Problem;
use anyhow::Context;
use axum::http::{HeaderMap, HeaderValue, header};
use base64::{Engine, engine::general_purpose::STANDARD};
use ids::{InstanceId, TenantId, UserId};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, decode_header, encode};
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};

use crate::config::CookieKey;

/// How long a cookie opens its instance, in seconds.
const LIFE: i64 = 8 * 3600;
const AUDIENCE: &str = "atelier-instance";
/// With https: browsers take a cookie of such a name only from its own host and for it alone.
const SECURE_NAME: &str = "__Host-atelier";
const PLAIN_NAME: &str = "atelier_session";

/// Who may come in, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pass {
    pub(super) instance: InstanceId,
    pub(super) tenant: TenantId,
    pub(super) user: UserId,
}

#[derive(Debug, Serialize, Deserialize)]
struct Claims {
    aud: String,
    sub: UserId,
    tid: TenantId,
    iid: InstanceId,
    iat: i64,
    exp: i64,
}

/// Makes, finds and guards cookies.
pub(super) struct Cookies {
    sign: (String, EncodingKey),
    verify: Vec<(String, DecodingKey)>,
    validation: Validation,
    secure: bool,
}

impl Cookies {
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
            sign: (id.clone(), EncodingKey::from_secret(first)),
            verify: keys.iter().map(|(id, key)| (id.clone(), DecodingKey::from_secret(key))).collect(),
            validation,
            secure,
        })
    }

    fn name(&self) -> &'static str {
        if self.secure { SECURE_NAME } else { PLAIN_NAME }
    }

    /// `Set-Cookie` with which its holder comes in.
    ///
    /// # Errors
    /// 500.
    pub(super) fn make(&self, pass: Pass) -> Result<HeaderValue, Problem> {
        let now = jiff::Timestamp::now().as_second();
        let claims = Claims {
            aud: AUDIENCE.to_owned(),
            sub: pass.user,
            tid: pass.tenant,
            iid: pass.instance,
            iat: now,
            exp: now + LIFE,
        };
        let header = Header { kid: Some(self.sign.0.clone()), ..Header::new(Algorithm::HS256) };
        let token = encode(&header, &claims, &self.sign.1).map_err(Problem::internal)?;
        let secure = if self.secure { "; Secure" } else { "" };
        let text = format!("{}={token}; Path=/; Max-Age={LIFE}; HttpOnly; SameSite=Lax{secure}", self.name());
        HeaderValue::from_str(&text).map_err(Problem::internal)
    }

    /// The pass for `instance` among the request's cookies. There may be several of our name (see the
    /// module above): one that is valid is enough.
    pub(super) fn find(&self, headers: &HeaderMap, instance: InstanceId) -> Option<Pass> {
        pairs(headers)
            .filter_map(|pair| pair.strip_prefix(self.name().as_bytes())?.strip_prefix(b"="))
            .filter_map(|token| self.verify(std::str::from_utf8(token).ok()?))
            .find(|pass| pass.instance == instance)
    }

    fn verify(&self, token: &str) -> Option<Pass> {
        let kid = decode_header(token).ok()?.kid?;
        let (_, key) = self.verify.iter().find(|(id, _)| *id == kid)?;
        let claims = decode::<Claims>(token, key, &self.validation).ok()?.claims;
        Some(Pass { instance: claims.iid, tenant: claims.tid, user: claims.sub })
    }

    /// Takes our cookies out of a request: what runs in the instance must not have them.
    pub(super) fn remove(&self, headers: &mut HeaderMap) {
        let others: Vec<&[u8]> =
            pairs(headers).filter(|pair| !pair.is_empty() && !ours(name_of(pair))).collect();
        let others = HeaderValue::from_bytes(&others.join(b"; ".as_slice()));
        headers.remove(header::COOKIE);
        if let Ok(others) = others
            && !others.is_empty()
        {
            headers.insert(header::COOKIE, others);
        }
    }

    /// Keeps an instance from setting our cookie, or any cookie for its siblings.
    pub(super) fn guard(&self, headers: &mut HeaderMap) {
        let header::Entry::Occupied(set) = headers.entry(header::SET_COOKIE) else { return };
        let (name, values) = set.remove_entry_mult();
        let kept: Vec<HeaderValue> = values.filter_map(|value| guarded(&value)).collect();
        for value in kept {
            headers.append(name.clone(), value);
        }
    }
}

/// Cookie names that are ours in either scheme. Browsers do not regard the case of the prefix.
fn ours(name: &[u8]) -> bool {
    [SECURE_NAME, PLAIN_NAME].iter().any(|own| own.as_bytes().eq_ignore_ascii_case(name))
}

/// The name in `name=value`, or in an attribute.
fn name_of(pair: &[u8]) -> &[u8] {
    pair.split(|byte| *byte == b'=').next().unwrap_or_default().trim_ascii()
}

fn guarded(value: &HeaderValue) -> Option<HeaderValue> {
    let bytes = value.as_bytes();
    let mut parts = bytes.split(|byte| *byte == b';');
    let pair = parts.next()?;
    let name = name_of(pair);
    // a cookie without a name is sent as its bare value, which may then read like another one's pair
    if ours(name) || (name.is_empty() && pair.contains(&b'=')) {
        return None;
    }
    let attributes = parts.filter(|attribute| !name_of(attribute).eq_ignore_ascii_case(b"domain"));
    let kept: Vec<&[u8]> = std::iter::once(pair).chain(attributes).collect();
    HeaderValue::from_bytes(&kept.join(&b';')).ok()
}

/// The request's cookies, `name=value` each. What instances set need not be ASCII.
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

    fn pass() -> Pass {
        Pass { instance: InstanceId::new(), tenant: TenantId::new(), user: UserId::new() }
    }

    fn request(cookies: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for cookie in cookies {
            headers.append(header::COOKIE, HeaderValue::from_str(cookie).unwrap());
        }
        headers
    }

    fn pair(set: &HeaderValue) -> String {
        set.to_str().unwrap().split(';').next().unwrap().to_owned()
    }

    #[test]
    fn a_cookie_opens_its_instance_only_and_survives_a_change_of_keys() {
        let cookies = Cookies::new(&[key("a", 1)], false).unwrap();
        let (own, other) = (pass(), pass());
        let (mine, theirs) = (pair(&cookies.make(own).unwrap()), pair(&cookies.make(other).unwrap()));
        assert_eq!(cookies.find(&request(&[&mine]), own.instance), Some(own));
        assert_eq!(cookies.find(&request(&[&theirs]), own.instance), None);
        let tossed = format!("a=b; {theirs}; atelier_session=rubbish; {mine}");
        assert_eq!(cookies.find(&request(&[&tossed]), own.instance), Some(own), "tossed cookies do no harm");
        let rotated = Cookies::new(&[key("b", 2), key("a", 1)], false).unwrap();
        assert_eq!(rotated.find(&request(&[&mine]), own.instance), Some(own));
        let forged = Cookies::new(&[key("a", 9)], false).unwrap();
        assert_eq!(cookies.find(&request(&[&pair(&forged.make(own).unwrap())]), own.instance), None);
    }

    #[test]
    fn with_https_the_cookie_is_bound_to_its_host() {
        let cookies = Cookies::new(&[key("a", 1)], true).unwrap();
        let set = cookies.make(pass()).unwrap();
        let text = set.to_str().unwrap();
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
        // whatever bytes an instance's own cookies have, they are no obstacle to ours and stay as they are
        let own = pass();
        let ours = pair(&cookies.make(own).unwrap());
        let odd = [b"name=J\xc3\xbcrgen; ".as_slice(), ours.as_bytes(), b"; raw=\xff"].concat();
        let mut headers = HeaderMap::new();
        headers.insert(header::COOKIE, HeaderValue::from_bytes(&odd).unwrap());
        assert_eq!(cookies.find(&headers, own.instance), Some(own));
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
