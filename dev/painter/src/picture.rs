//! PNG files with their parameters in the `parameters` text, as the WebUI writes them.

use anyhow::{Context as _, ensure};

/// Edge of a picture that is read, at most.
const MAX_EDGE: u32 = 8_192;

/// RGB rows as a PNG. `infotext` goes to the `parameters` chunk: tEXt if it is Latin-1, otherwise iTXt, as Pillow does
/// for the real WebUI.
///
/// # Errors
/// If the encoder refuses the size.
pub fn png(
    (width, height, rgb): (usize, usize, &[u8]),
    infotext: Option<&str>,
) -> Result<Vec<u8>, png::EncodingError> {
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

/// Width, height and RGB rows of a PNG.
///
/// # Errors
/// If it is none, or too large.
pub fn decode(file: &[u8]) -> anyhow::Result<(usize, usize, Vec<u8>)> {
    let mut decoder = png::Decoder::new(std::io::Cursor::new(file));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info()?;
    let (width, height) = (reader.info().width, reader.info().height);
    ensure!(width <= MAX_EDGE && height <= MAX_EDGE, "larger than {MAX_EDGE} pixels");
    let mut rows = vec![0; reader.output_buffer_size().context("too large")?];
    let shape = reader.next_frame(&mut rows)?;
    rows.truncate(shape.buffer_size());
    let channels = shape.color_type.samples();
    // grey has one sample, and a second one is the opacity
    let rgb = rows
        .chunks_exact(channels)
        .flat_map(|pixel| if channels < 3 { [pixel[0]; 3] } else { [pixel[0], pixel[1], pixel[2]] })
        .collect();
    Ok((width as usize, height as usize, rgb))
}
