//! PNG files with their parameters in the `parameters` text, as the WebUI writes them.

/// RGB rows as a PNG. `infotext` goes to the `parameters` chunk: tEXt if it is Latin-1, otherwise iTXt, as Pillow does
/// for the real WebUI.
///
/// # Errors
/// If the encoder refuses the size.
pub(crate) fn png(
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
