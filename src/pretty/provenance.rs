//! Who wrote, signed and carried a record.

use crate::git::sign::SignatureState;
use crate::upkeep::verify::Verified;

/// Returns who signed and wrote a record, who carried it, and which tree it was made for.
pub fn provenance(each: &Verified) -> String {
    let mut line = String::new();
    line += match each.signature.state {
        SignatureState::None => "unsigned",
        SignatureState::Good => "good signature",
        SignatureState::Doubtful => "signature by a key that is not trusted",
        SignatureState::Bad => "BAD signature",
        SignatureState::Unchecked => "signature that cannot be checked",
    };
    if !each.signature.signer.is_empty() {
        line += &format!(" by {}", each.signature.signer);
    }
    if each.signature.state != SignatureState::Good && !each.writer.is_empty() {
        line += &format!(", written in the name of {}", each.writer);
    }
    if let Some(what) = each.lost_writer {
        line += &format!(", writer not known since {what}");
    }
    if let Some(carrier) = &each.carried_by {
        line += &format!(", carried here by {carrier}");
    }
    line += match each.is_own_tree {
        Some(true) => ", made for this tree",
        Some(false) => ", made for another tree",
        None => "",
    };
    line
}
