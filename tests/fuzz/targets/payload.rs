//! Payloads of hooks: any bytes give some payload, and everything about it can be asked.
#![no_main]

use libfuzzer_sys::fuzz_target;
use shiftlog::agent::{self, Event, Payload};

fuzz_target!(|data: &[u8]| {
    let payload = Payload::parse(data);
    let _ = (payload.session_id(), payload.transcript(), payload.directory(), payload.event(), payload.call_id());
    let _ = (payload.may_commit(), payload.response_mentions("4e1c2aa"));
    let _ = Event::of(payload.event().unwrap_or_default());
    assert!(agent::caller("claude", &payload).is_some(), "a payload that is nobody's is that of the declared agent");
});
