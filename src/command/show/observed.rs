//! Evidence below the conversation of a commit.

use crate::cli::Screen;
use crate::error::Result;
use crate::record::{Evidence, Reader};
use crate::{evidence, outside, pretty};

/// Prints evidence; with `is_whole` the texts too, where they are stored or their files still are.
pub(super) fn print(screen: &mut Screen, reader: &Reader<'_>, evidence: &[Evidence], is_whole: bool) -> Result<()> {
    for (number, one) in evidence.iter().enumerate() {
        let text = is_whole.then(|| evidence::text_of(&reader.archive(), one));
        screen.write(|out, style| {
            pretty::write_evidence(out, number + 1, one, style)?;
            match &text {
                Some(Ok(text)) => {
                    let text = outside::text(&String::from_utf8_lossy(text));
                    text.lines().try_for_each(|line| writeln!(out, "    {line}"))?;
                }
                Some(Err(error)) => writeln!(out, "    [{}]", outside::line(&error.to_string()))?,
                None => {}
            }
            writeln!(out)
        })?;
    }
    Ok(())
}
