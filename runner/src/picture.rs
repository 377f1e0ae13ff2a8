//! Files of pictures: their formats, and PNG files that engines read differently: Pillow, with which the WebUI reads
//! them, makes most greys of 16 bits white, and shows hidden pixels behind transparent ones in all types but RGBA.

use std::io::Cursor;

use bytes::Bytes;

/// The background behind transparent pixels of a picture: white.
pub(crate) const WHITE: u8 = 255;
/// The background behind transparent pixels of a mask: they are kept.
pub(crate) const KEPT: u8 = 0;
/// Maximum edge of a picture that is changed, in pixels.
const MAX_EDGE: u32 = 8_192;

/// Extension and media type of a file, by its first bytes. The format of the WebUI's files depends on its
/// option `samples_format`.
pub(crate) fn format(file: &[u8]) -> (&'static str, &'static str) {
    match file {
        [0x89, b'P', b'N', b'G', ..] => ("png", "image/png"),
        [0xff, 0xd8, 0xff, ..] => ("jpg", "image/jpeg"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => ("webp", "image/webp"),
        _ => ("bin", "application/octet-stream"),
    }
}

/// The file, or an equivalent one in opaque RGB of 8 bits. A file that cannot be read is returned unchanged.
pub(crate) fn plain(file: Bytes, background: u8) -> Bytes {
    flattened(&file, background).unwrap_or(file)
}

/// None if the file is not a PNG, or does not depend on the background.
fn flattened(file: &[u8], background: u8) -> Option<Bytes> {
    let mut decoder = png::Decoder::new(Cursor::new(file));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().ok()?;
    let info = reader.info();
    let (width, height) = (info.width, info.height);
    let is_transparent = info.trns.is_some()
        || matches!(info.color_type, png::ColorType::GrayscaleAlpha | png::ColorType::Rgba);
    let is_deep = info.bit_depth == png::BitDepth::Sixteen;
    if width > MAX_EDGE || height > MAX_EDGE || !(is_transparent || is_deep) {
        return None;
    }
    let mut rows = vec![0; reader.output_buffer_size()?];
    let shape = reader.next_frame(&mut rows).ok()?;
    // it may follow the pixels; the orientation must be kept
    reader.finish().ok()?;
    let exif = reader.info().exif_metadata.clone();
    let over = |colour: u8, opacity: u8| {
        let sum = u32::from(colour) * u32::from(opacity) + u32::from(background) * u32::from(255 - opacity);
        u8::try_from((sum + 127) / 255).unwrap_or(u8::MAX)
    };
    let mut rgb = Vec::with_capacity(rows.len());
    for pixel in rows.get(..shape.buffer_size())?.chunks_exact(shape.color_type.samples()) {
        rgb.extend_from_slice(&match *pixel {
            [grey] => [grey; 3],
            [grey, opacity] => [over(grey, opacity); 3],
            [red, green, blue] => [red, green, blue],
            [red, green, blue, opacity] => [over(red, opacity), over(green, opacity), over(blue, opacity)],
            _ => return None,
        });
    }
    let mut flat = Vec::new();
    let mut info = png::Info::with_size(width, height);
    info.color_type = png::ColorType::Rgb;
    info.bit_depth = png::BitDepth::Eight;
    info.exif_metadata = exif;
    let mut encoder = png::Encoder::with_info(&mut flat, info).ok()?;
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header().ok()?;
    writer.write_image_data(&rgb).ok()?;
    writer.finish().ok()?;
    Some(flat.into())
}

#[cfg(test)]
mod tests {
    use png::{BitDepth, ColorType};

    use super::*;

    /// A file of one pixel.
    fn file(colour: ColorType, depth: BitDepth, transparency: &[u8], pixel: &[u8]) -> Bytes {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, 1, 1);
        encoder.set_color(colour);
        encoder.set_depth(depth);
        if colour == ColorType::Indexed {
            encoder.set_palette(vec![1, 2, 3]);
        }
        if !transparency.is_empty() {
            encoder.set_trns(transparency.to_vec());
        }
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(pixel).unwrap();
        writer.finish().unwrap();
        bytes.into()
    }

    fn colour(file: &Bytes) -> [u8; 3] {
        let mut reader = png::Decoder::new(Cursor::new(file)).read_info().unwrap();
        let info = reader.info();
        assert_eq!((info.color_type, info.bit_depth, &info.trns), (ColorType::Rgb, BitDepth::Eight, &None));
        let mut pixel = [0; 3];
        reader.next_frame(&mut pixel).unwrap();
        pixel
    }

    #[test]
    fn what_engines_read_differently_becomes_opaque_rgb() {
        use BitDepth::{Eight, Sixteen};
        use ColorType::{Grayscale, GrayscaleAlpha, Indexed, Rgb, Rgba};
        for (kind, depth, transparency, pixel, expected) in [
            (Grayscale, Sixteen, &[][..], &[0x80, 0x01][..], [128; 3]),
            (Grayscale, Eight, &[0, 9], &[9], [255; 3]),
            (GrayscaleAlpha, Eight, &[], &[0, 51], [204; 3]),
            (Indexed, Eight, &[0], &[0], [255; 3]),
            (Rgb, Sixteen, &[], &[1, 9, 2, 9, 3, 9], [1, 2, 3]),
            (Rgba, Eight, &[], &[0, 100, 200, 51], [204, 224, 244]),
            (Rgba, Sixteen, &[], &[0, 0, 0, 0, 0, 0, 0, 0], [255; 3]),
        ] {
            let flat = plain(file(kind, depth, transparency, pixel), WHITE);
            assert_eq!(colour(&flat), expected, "{kind:?} {depth:?} {transparency:?}");
        }
        assert_eq!(colour(&plain(file(GrayscaleAlpha, Eight, &[], &[200, 0]), KEPT)), [0; 3]);
    }

    #[test]
    fn which_side_is_up_stays() {
        let (mut bytes, exif) = (Vec::new(), b"II*\0 and an orientation");
        let mut info = png::Info::with_size(1, 1);
        info.color_type = ColorType::Rgba;
        info.exif_metadata = Some(exif.into());
        let mut writer = png::Encoder::with_info(&mut bytes, info).unwrap().write_header().unwrap();
        writer.write_image_data(&[1, 2, 3, 255]).unwrap();
        writer.finish().unwrap();
        let flat = plain(bytes.into(), WHITE);
        assert_eq!(colour(&flat), [1, 2, 3]);
        let reader = png::Decoder::new(Cursor::new(&flat)).read_info().unwrap();
        assert_eq!(reader.info().exif_metadata.as_deref(), Some(&exif[..]));
    }

    #[test]
    fn a_file_is_named_by_what_it_is() {
        assert_eq!(format(&file(ColorType::Rgb, BitDepth::Eight, &[], &[1, 2, 3])), ("png", "image/png"));
        assert_eq!(format(b"\xff\xd8\xff\xe0\0\x10JFIF"), ("jpg", "image/jpeg"));
        assert_eq!(format(b"RIFF\x24\0\0\0WEBPVP8 "), ("webp", "image/webp"));
        for other in [&b"RIFF\x24\0\0\0WAVE"[..], b"GIF89a", b""] {
            assert_eq!(format(other), ("bin", "application/octet-stream"));
        }
    }

    #[test]
    fn other_files_stay_as_they_are() {
        for file in [
            file(ColorType::Grayscale, BitDepth::Eight, &[], &[9]),
            file(ColorType::Indexed, BitDepth::Eight, &[], &[0]),
            file(ColorType::Rgb, BitDepth::Eight, &[], &[1, 2, 3]),
            Bytes::from_static(b"GIF89a"),
            Bytes::from_static(b"\x89PNG\r\n\x1a\n, and no more"),
            Bytes::new(),
        ] {
            assert_eq!(plain(file.clone(), WHITE), file);
        }
    }
}
