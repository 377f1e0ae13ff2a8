//! An authenticator in software: a browser with a passkey (ES256, no attestation). Its fields can be changed, so that it
//! misbehaves.

use aws_lc_rs::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

pub(crate) const RP_ID: &str = "atelier.test";
pub(crate) const ORIGIN: &str = "https://atelier.test";

const USER_PRESENT: u8 = 0x01;
const USER_VERIFIED: u8 = 0x04;
const HAS_CREDENTIAL: u8 = 0x40;

/// A passkey and the browser that uses it.
pub(crate) struct Authenticator {
    key: EcdsaKeyPair,
    pub(crate) credential_id: Vec<u8>,
    pub(crate) user_handle: Vec<u8>,
    pub(crate) rp_id: String,
    pub(crate) origin: String,
    pub(crate) verifies_user: bool,
    /// Of the next signature; 0 for authenticators without a counter.
    pub(crate) counter: u32,
}

fn encoded(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn decoded(text: &Value) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(text.as_str().unwrap()).unwrap()
}

impl Authenticator {
    /// Makes a passkey for the user whom the options of a registration name.
    pub(crate) fn new(options: &Value) -> Self {
        let selection = &options["authenticatorSelection"];
        assert_eq!(
            (&selection["residentKey"], &selection["userVerification"]),
            (&json!("required"), &json!("required"))
        );
        assert_eq!(options["rp"]["id"], RP_ID);
        let mut credential_id = vec![0; 32];
        aws_lc_rs::rand::fill(&mut credential_id).unwrap();
        Self {
            key: EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap(),
            credential_id,
            user_handle: decoded(&options["user"]["id"]),
            rp_id: RP_ID.to_owned(),
            origin: ORIGIN.to_owned(),
            verifies_user: true,
            counter: 0,
        }
    }

    fn client_data(&self, kind: &str, options: &Value) -> Vec<u8> {
        let data = json!({ "type": kind, "challenge": options["challenge"], "origin": self.origin, "crossOrigin": false });
        data.to_string().into_bytes()
    }

    fn data(&mut self, flags: u8) -> Vec<u8> {
        let verified = if self.verifies_user { USER_VERIFIED } else { 0 };
        let mut data = Sha256::digest(self.rp_id.as_bytes()).to_vec();
        data.push(flags | USER_PRESENT | verified);
        data.extend(self.counter.to_be_bytes());
        self.counter += u32::from(self.counter > 0);
        data
    }

    /// The answer to the options of a registration, as a browser writes it.
    pub(crate) fn create(&mut self, options: &Value) -> Value {
        let mut data = self.data(HAS_CREDENTIAL);
        data.extend([0; 16]);
        data.extend((self.credential_id.len() as u16).to_be_bytes());
        data.extend(&self.credential_id);
        // COSE: kty EC2, alg ES256, crv P-256, x, y
        let point = self.key.public_key().as_ref().to_vec();
        data.extend([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20]);
        data.extend(&point[1..33]);
        data.extend([0x22, 0x58, 0x20]);
        data.extend(&point[33..]);
        let mut object = b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x58".to_vec();
        object.push(u8::try_from(data.len()).unwrap());
        object.extend(data);
        let client_data = self.client_data("webauthn.create", options);
        json!({
            "id": encoded(&self.credential_id), "rawId": encoded(&self.credential_id), "type": "public-key",
            "authenticatorAttachment": "platform", "clientExtensionResults": { "credProps": { "rk": true } },
            "response": { "attestationObject": encoded(&object), "clientDataJSON": encoded(&client_data),
                          "transports": ["internal", "hybrid"], "publicKeyAlgorithm": -7 },
        })
    }

    /// The answer to the options of a sign-in, as a browser writes it.
    pub(crate) fn get(&mut self, options: &Value) -> Value {
        assert_eq!((&options["rpId"], &options["userVerification"]), (&json!(RP_ID), &json!("required")));
        assert_eq!(options["allowCredentials"], json!([]), "no account is named before it has signed in");
        let client_data = self.client_data("webauthn.get", options);
        let data = self.data(0);
        let signed = [data.clone(), Sha256::digest(&client_data).to_vec()].concat();
        let signature = self.key.sign(&SystemRandom::new(), &signed).unwrap();
        json!({
            "id": encoded(&self.credential_id), "rawId": encoded(&self.credential_id), "type": "public-key",
            "authenticatorAttachment": "platform", "clientExtensionResults": {},
            "response": { "authenticatorData": encoded(&data), "clientDataJSON": encoded(&client_data),
                          "signature": encoded(signature.as_ref()), "userHandle": encoded(&self.user_handle) },
        })
    }
}
