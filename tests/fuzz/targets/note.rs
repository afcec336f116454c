//! Note lines: whatever is in a note reads, is written back with every unit, and joins to the same whichever side asks.
#![no_main]

use libfuzzer_sys::fuzz_target;
use shiftlog::record::Note;

fuzz_target!(|data: &[u8]| {
    let note = Note::parse(data);
    let again = Note::parse(&note.to_bytes());
    assert_eq!(note.units(), again.units(), "what was written reads the same");
    let mut twice = note.clone();
    twice.merge(&note);
    assert_eq!(twice.units().len(), note.units().len(), "joining a note to itself changes nothing");
    let (one, other) = data.split_at(data.len() / 2);
    let (one, other) = (Note::parse(one), Note::parse(other));
    let (mut here, mut there) = (one.clone(), other.clone());
    here.merge(&other);
    there.merge(&one);
    assert_eq!(here.records().count(), there.records().count());
});
