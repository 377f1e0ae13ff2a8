//! JPEG files, with their parameters in the comment of the user in EXIF, as the WebUI writes them.

use std::io::Cursor;

use anyhow::{Context as _, ensure};
use image::{
    DynamicImage, ExtendedColorType, ImageDecoder as _, ImageEncoder as _,
    codecs::jpeg::{JpegDecoder, JpegEncoder},
};

use crate::rows::{MAX_EDGE, Rows};

/// The quality that is the WebUI's default (`jpeg_quality`).
const QUALITY: u8 = 80;
/// EXIF: the offset of a folder from the beginning, of a text of any character set, and their types.
const EXIF_FOLDER: u16 = 0x8769;
const USER_COMMENT: u16 = 0x9286;
const LONG: u16 = 4;
const UNDEFINED: u16 = 7;

/// Whether a file begins as a JPEG.
pub(crate) fn is_jpeg(file: &[u8]) -> bool {
    file.starts_with(&[0xff, 0xd8, 0xff])
}

/// Whether the last scan has an end. The decoder fills in missing parts; Pillow, which the WebUI uses,
/// refuses such files.
fn is_whole(file: &[u8]) -> bool {
    let mut pairs = file.windows(2);
    let scan = pairs.rposition(|pair| pair == [0xff, 0xda]);
    scan.is_some_and(|scan| file[scan..].windows(2).any(|pair| pair == [0xff, 0xd9]))
}

/// RGB rows as a JPEG.
///
/// # Errors
/// If the encoder refuses the size, or the text is too long for EXIF.
pub fn jpeg((width, height, rgb): Rows<'_>, infotext: Option<&str>) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(rgb.len() / 8);
    let mut encoder = JpegEncoder::new_with_quality(&mut bytes, QUALITY);
    if let Some(text) = infotext {
        encoder.set_exif_metadata(exif(text)?)?;
    }
    encoder.write_image(rgb, width as u32, height as u32, ExtendedColorType::Rgb8)?;
    Ok(bytes)
}

/// A TIFF of two folders with one entry each: the first has the place of the second, and that the comment.
fn exif(text: &str) -> anyhow::Result<Vec<u8>> {
    const FIRST: u32 = 8;
    // number of entries, an entry, offset of the next folder
    const FOLDER: u32 = 2 + 12 + 4;
    let mut comment = b"UNICODE\0".to_vec();
    comment.extend(text.encode_utf16().flat_map(u16::to_be_bytes));
    // a segment of JPEG has 65,533 bytes at most
    ensure!(comment.len() < 65_000, "the parameters are too long");
    let folder = |tag: u16, kind: u16, count: u32, value: u32| {
        let mut bytes = 1u16.to_be_bytes().to_vec();
        bytes.extend([tag, kind].into_iter().flat_map(u16::to_be_bytes));
        bytes.extend([count, value, 0].into_iter().flat_map(u32::to_be_bytes));
        bytes
    };
    let mut exif = b"MM\0\x2a".to_vec();
    exif.extend(FIRST.to_be_bytes());
    exif.extend(folder(EXIF_FOLDER, LONG, 1, FIRST + FOLDER));
    exif.extend(folder(USER_COMMENT, UNDEFINED, u32::try_from(comment.len())?, FIRST + 2 * FOLDER));
    exif.extend(comment);
    Ok(exif)
}

/// Width, height and RGB rows of a JPEG of any colour type, rotated by its EXIF orientation.
///
/// # Errors
/// If it is not a JPEG, or too large.
pub(crate) fn decode(file: &[u8]) -> anyhow::Result<(usize, usize, Vec<u8>)> {
    ensure!(is_whole(file), "a part of a JPEG");
    let mut decoder = JpegDecoder::new(Cursor::new(file))?;
    let (width, height) = decoder.dimensions();
    ensure!(width <= MAX_EDGE && height <= MAX_EDGE, "larger than {MAX_EDGE} pixels");
    let orientation = decoder.orientation()?;
    let mut picture = DynamicImage::from_decoder(decoder).context("not a whole JPEG")?;
    picture.apply_orientation(orientation);
    let rgb = picture.into_rgb8();
    Ok((rgb.width() as usize, rgb.height() as usize, rgb.into_raw()))
}

#[cfg(test)]
mod tests {
    use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};

    use super::*;

    /// Files of 16 by 24 pixels that Pillow has written: red, blue to the right, green below; in grey, in CMYK, progressive, and
    /// turned by EXIF.
    const FILES: [(&str, &str); 4] = [
        (
            "progressive",
            "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAIBAQEBAQIBAQECAgICAgQDAgICAgUEBAMEBgUGBgYFBgYGBwkIBgcJBwYGCAsICQoKCgoKBggLDAsKDAkKCgr/2wBDAQICAgICAgUDAwUKBwYHCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgr/wgARCAAYABADASIAAhEBAxEB/8QAFwAAAwEAAAAAAAAAAAAAAAAAAAYIB//EABYBAQEBAAAAAAAAAAAAAAAAAAYFCP/aAAwDAQACEAMQAAABy9bZFtc7oSewn5q//8QAFBABAAAAAAAAAAAAAAAAAAAAIP/aAAgBAQABBQJf/8QAHBEAAQMFAAAAAAAAAAAAAAAAAAYHQ0SCg8HC/9oACAEDAQE/AXbosnAlJrdn/8QAGREAAgMBAAAAAAAAAAAAAAAAAAdEg8LD/9oACAECAQE/AVLMr2JafV0P/8QAFBABAAAAAAAAAAAAAAAAAAAAIP/aAAgBAQAGPwJf/8QAFBABAAAAAAAAAAAAAAAAAAAAIP/aAAgBAQABPyFf/9oADAMBAAIAAwAAABAAD//EABQRAQAAAAAAAAAAAAAAAAAAABD/2gAIAQMBAT8QLn//xAAUEQEAAAAAAAAAAAAAAAAAAAAQ/9oACAECAQE/EDw//8QAFBABAAAAAAAAAAAAAAAAAAAAIP/aAAgBAQABPxBf/9k=",
        ),
        (
            "grey",
            "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAIBAQEBAQIBAQECAgICAgQDAgICAgUEBAMEBgUGBgYFBgYGBwkIBgcJBwYGCAsICQoKCgoKBggLDAsKDAkKCgr/wAALCAAYABABAREA/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/9oACAEBAAA/APl+vN69Irzev0Ir896//9k=",
        ),
        (
            "cmyk",
            "/9j/7gAOQWRvYmUAZAAAAAAA/9sAQwACAQEBAQECAQEBAgICAgIEAwICAgIFBAQDBAYFBgYGBQYGBgcJCAYHCQcGBggLCAkKCgoKCgYICwwLCgwJCgoK/8AAFAgAGAAQBEMRAE0RAFkRAEsRAP/EAB8AAAEFAQEBAQEBAAAAAAAAAAABAgMEBQYHCAkKC//EALUQAAIBAwMCBAMFBQQEAAABfQECAwAEEQUSITFBBhNRYQcicRQygZGhCCNCscEVUtHwJDNicoIJChYXGBkaJSYnKCkqNDU2Nzg5OkNERUZHSElKU1RVVldYWVpjZGVmZ2hpanN0dXZ3eHl6g4SFhoeIiYqSk5SVlpeYmZqio6Slpqeoqaqys7S1tre4ubrCw8TFxsfIycrS09TV1tfY2drh4uPk5ebn6Onq8fLz9PX29/j5+v/aAA4EQwBNAFkASwAAPwD9IK/J+vyfr9/K/l/r1Cv6gKK/qAry+v5f6K/l/r1Cv6gKKK/owr+c+iiv5z6/owor/9k=",
        ),
        (
            "turned",
            "/9j/4AAQSkZJRgABAQAAAQABAAD/4QAiRXhpZgAATU0AKgAAAAgAAQESAAMAAAABAAYAAAAAAAD/2wBDAAIBAQEBAQIBAQECAgICAgQDAgICAgUEBAMEBgUGBgYFBgYGBwkIBgcJBwYGCAsICQoKCgoKBggLDAsKDAkKCgr/2wBDAQICAgICAgUDAwUKBwYHCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgr/wAARCAAYABADASIAAhEBAxEB/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/8QAHwEAAwEBAQEBAQEBAQAAAAAAAAECAwQFBgcICQoL/8QAtREAAgECBAQDBAcFBAQAAQJ3AAECAxEEBSExBhJBUQdhcRMiMoEIFEKRobHBCSMzUvAVYnLRChYkNOEl8RcYGRomJygpKjU2Nzg5OkNERUZHSElKU1RVVldYWVpjZGVmZ2hpanN0dXZ3eHl6goOEhYaHiImKkpOUlZaXmJmaoqOkpaanqKmqsrO0tba3uLm6wsPExcbHyMnK0tPU1dbX2Nna4uPk5ebn6Onq8vP09fb3+Pn6/9oADAMBAAIRAxEAPwD5frzevSK83r9c+iV/zOf+5b/3Ofu30t/+ZL/3M/8AuA/Qivz3oor5/wChb/zPv+5X/wB2D/NXwo/5jP8AuH/7ef/Z",
        ),
    ];

    fn pixel((width, _, rgb): &(usize, usize, Vec<u8>), x: usize, y: usize) -> [u8; 3] {
        rgb[(y * width + x) * 3..][..3].try_into().unwrap()
    }

    fn is_near(one: [u8; 3], other: [u8; 3]) -> bool {
        one.iter().zip(other).all(|(one, other)| one.abs_diff(other) <= 12)
    }

    #[test]
    fn every_colour_type_looks_as_it_should() {
        let (red, blue, green) = ([200, 40, 40], [40, 60, 200], [40, 200, 60]);
        for (name, file) in FILES {
            let file = BASE64.decode(file).unwrap();
            let picture = crate::picture::decode(&file, 255).unwrap();
            let (size, expected) = match name {
                "grey" => ((16, 24), [[88; 3], [70; 3], [136; 3]]),
                "turned" => ((24, 16), [green, red, blue]),
                _ => ((16, 24), [red, blue, green]),
            };
            assert_eq!((picture.0, picture.1), size, "{name}");
            let seen =
                [pixel(&picture, 4, 4), pixel(&picture, size.0 - 5, 4), pixel(&picture, 4, size.1 - 5)];
            let is_right = seen.into_iter().zip(expected).all(|(one, other)| is_near(one, other));
            assert!(is_right, "{name}: {seen:?} instead of {expected:?}");
            assert!(decode(&file[..file.len() / 2]).is_err(), "{name}: a part of a file");
        }
    }

    #[test]
    fn what_is_written_can_be_read_with_its_parameters() {
        let (width, height) = (32, 8);
        let rgb: Vec<u8> = (0..width * height).flat_map(|n| [(n % width * 8) as u8, 100, 50]).collect();
        let file = jpeg((width, height, &rgb), Some("a fox, \u{1f98a}")).unwrap();
        let read = decode(&file).unwrap();
        assert_eq!((read.0, read.1), (width, height));
        assert!(is_near(pixel(&read, 20, 4), [160, 100, 50]), "{:?}", pixel(&read, 20, 4));
        let comment: Vec<u8> = "a fox, \u{1f98a}".encode_utf16().flat_map(u16::to_be_bytes).collect();
        let has = |part: &[u8]| file.windows(part.len()).any(|window| window == part);
        assert!(has(&[&b"UNICODE\0"[..], &comment].concat()) && has(b"Exif\0\0MM\0\x2a"));
        assert!(jpeg((width, height, &rgb), Some(&"x".repeat(40_000))).is_err());
    }
}
