//! Files of pictures: PNG files with their parameters in the `parameters` text, as the WebUI writes them.

use anyhow::{Context as _, ensure};

use crate::jpeg;
use crate::rows::{MAX_EDGE, Rows};

/// RGB rows as a PNG. `infotext` goes to the `parameters` chunk: tEXt if it is Latin-1, otherwise iTXt, as Pillow does
/// for the real WebUI.
///
/// # Errors
/// If the encoder refuses the size.
pub fn png((width, height, rgb): Rows<'_>, infotext: Option<&str>) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::with_capacity(rgb.len() / 2);
    let mut encoder = png::Encoder::new(&mut bytes, width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Fast);
    if let Some(text) = infotext {
        if text.chars().all(|c| u32::from(c) < 256) {
            encoder.add_text_chunk("parameters".into(), text.into())?;
        } else {
            encoder.add_itxt_chunk("parameters".into(), text.into())?;
        }
    }
    let mut writer = encoder.write_header()?;
    writer.write_image_data(rgb)?;
    writer.finish()?;
    Ok(bytes)
}

/// The background behind transparent pixels: white, as in the real WebUI.
pub const WHITE: u8 = 255;

/// Width, height and RGB rows of a JPEG, or of a PNG of any colour type and depth, on a grey background of
/// this brightness.
///
/// # Errors
/// If it is not such a picture, or too large.
pub fn decode(file: &[u8], background: u8) -> anyhow::Result<(usize, usize, Vec<u8>)> {
    if jpeg::is_jpeg(file) {
        return jpeg::decode(file);
    }
    let mut decoder = png::Decoder::new(std::io::Cursor::new(file));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info()?;
    let (width, height) = (reader.info().width, reader.info().height);
    ensure!(width <= MAX_EDGE && height <= MAX_EDGE, "larger than {MAX_EDGE} pixels");
    let mut rows = vec![0; reader.output_buffer_size().context("too large")?];
    let shape = reader.next_frame(&mut rows)?;
    rows.truncate(shape.buffer_size());
    let over = |colour: u8, opacity: u8| {
        let (opacity, rest) = (u32::from(opacity), u32::from(255 - opacity));
        ((u32::from(colour) * opacity + u32::from(background) * rest + 127) / 255) as u8
    };
    let rgb = rows
        .chunks_exact(shape.color_type.samples())
        .flat_map(|pixel| match *pixel {
            [grey] => [grey; 3],
            [grey, opacity] => [over(grey, opacity); 3],
            [red, green, blue] => [red, green, blue],
            [red, green, blue, opacity, ..] => {
                [over(red, opacity), over(green, opacity), over(blue, opacity)]
            }
            [] => [background; 3],
        })
        .collect();
    Ok((width as usize, height as usize, rgb))
}

#[cfg(test)]
mod tests {
    use png::{BitDepth, ColorType};

    use super::*;

    /// A file of two by one pixels.
    fn file(
        (colour, depth): (ColorType, BitDepth),
        palette: &[u8],
        transparency: &[u8],
        row: &[u8],
    ) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, 2, 1);
        encoder.set_color(colour);
        encoder.set_depth(depth);
        if !palette.is_empty() {
            encoder.set_palette(palette.to_vec());
        }
        if !transparency.is_empty() {
            encoder.set_trns(transparency.to_vec());
        }
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(row).unwrap();
        writer.finish().unwrap();
        bytes
    }

    #[test]
    fn every_colour_type_and_depth_looks_as_it_should() {
        use BitDepth::{Eight, Four, One, Sixteen, Two};
        use ColorType::{Grayscale, GrayscaleAlpha, Indexed, Rgb, Rgba};
        let palette = [10, 20, 30, 40, 50, 60];
        let (first, second) = ([10, 20, 30], [40, 50, 60]);
        for (kind, palette, transparency, row, expected) in [
            ((Grayscale, One), &[][..], &[][..], &[0b0100_0000][..], [[0; 3], [255; 3]]),
            ((Grayscale, Two), &[], &[], &[0b0110_0000], [[85; 3], [170; 3]]),
            ((Grayscale, Four), &[], &[], &[0x3c], [[51; 3], [204; 3]]),
            ((Grayscale, Eight), &[], &[], &[7, 200], [[7; 3], [200; 3]]),
            ((Grayscale, Sixteen), &[], &[], &[0x80, 0, 0x01, 0xff], [[128; 3], [1; 3]]),
            // one grey is transparent
            ((Grayscale, Eight), &[], &[0, 7], &[7, 200], [[255; 3], [200; 3]]),
            ((Grayscale, Sixteen), &[], &[0x80, 1], &[0x80, 0, 0x80, 1], [[128; 3], [255; 3]]),
            ((GrayscaleAlpha, Eight), &[], &[], &[0, 0, 100, 255], [[255; 3], [100; 3]]),
            ((GrayscaleAlpha, Sixteen), &[], &[], &[0, 0, 0x80, 0, 9, 0, 255, 255], [[127; 3], [9; 3]]),
            ((Indexed, One), &palette, &[], &[0b0100_0000], [first, second]),
            ((Indexed, Two), &palette, &[], &[0b0100_0000], [second, first]),
            ((Indexed, Four), &palette, &[], &[0x10], [second, first]),
            ((Indexed, Eight), &palette, &[], &[1, 0], [second, first]),
            ((Indexed, Eight), &palette, &[255, 0], &[0, 1], [first, [255; 3]]),
            ((Rgb, Eight), &[], &[], &[1, 2, 3, 4, 5, 6], [[1, 2, 3], [4, 5, 6]]),
            ((Rgb, Eight), &[], &[0, 1, 0, 2, 0, 3], &[1, 2, 3, 4, 5, 6], [[255; 3], [4, 5, 6]]),
            ((Rgb, Sixteen), &[], &[], &[1, 0, 2, 0, 3, 0, 4, 9, 5, 9, 6, 9], [[1, 2, 3], [4, 5, 6]]),
            ((Rgba, Eight), &[], &[], &[9, 9, 9, 0, 0, 100, 200, 51], [[255; 3], [204, 224, 244]]),
            (
                (Rgba, Sixteen),
                &[],
                &[],
                &[9, 0, 9, 0, 9, 0, 0, 0, 1, 0, 2, 0, 3, 0, 255, 255],
                [[255; 3], [1, 2, 3]],
            ),
        ] {
            let file = file(kind, palette, transparency, row);
            let (width, height, rgb) = decode(&file, WHITE).unwrap();
            assert_eq!(
                (width, height, rgb.as_slice()),
                (2, 1, expected.as_flattened()),
                "{kind:?} {transparency:?}"
            );
        }
        let transparent = file((GrayscaleAlpha, Eight), &[], &[], &[200, 0, 200, 255]);
        assert_eq!(decode(&transparent, 0).unwrap().2, [0, 0, 0, 200, 200, 200]);
    }
}
