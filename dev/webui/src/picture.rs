//! PNG files that carry their own recipe in the `parameters` text, as the WebUI's do.

/// RGB rows as a PNG. `infotext` goes to the `parameters` chunk: tEXt while it is Latin-1, else
/// iTXt, as Pillow decides it for the real WebUI.
///
/// # Errors
/// When the encoder refuses the sizes.
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
