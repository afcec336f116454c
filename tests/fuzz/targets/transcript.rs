//! Transcripts of each agent: any bytes parse, whole and in pieces, and come back from what is stored.
#![no_main]

use libfuzzer_sys::fuzz_target;
use shiftlog::agent;
use shiftlog::transcript::{Tally, complete_lines};

fuzz_target!(|data: &[u8]| {
    let Some((choice, text)) = data.split_first() else { return };
    let agent = agent::ALL[usize::from(*choice) % agent::ALL.len()];
    let messages = agent.parse(text);
    for message in &messages {
        assert!(message.span.start <= message.span.end && message.span.end <= text.len(), "{:?}", message.span);
    }
    Tally::default().add(&messages);
    let _ = agent.session_id(text);
    let (first, second) = text.split_at(complete_lines(&text[..text.len() / 2]));
    let mut parser = agent.parser();
    for piece in [first, second] {
        assert!(parser.parse(piece).iter().all(|message| message.span.end <= piece.len()));
    }
    let lines = agent.lines(text.to_vec());
    assert_eq!(&agent.native(&lines)[..], text, "{} gives back what it was given", agent.name());
});
