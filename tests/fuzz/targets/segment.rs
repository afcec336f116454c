//! Segments: any bytes are an error or a segment, which is written and read back the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use shiftlog::archive::segment;

fuzz_target!(|data: &[u8]| {
    let Ok((header, body)) = segment::decode(data) else {
        // Also the header alone, with bytes behind it that are no frame.
        let _ = segment::split(data);
        return;
    };
    let file = segment::encode(&header, &body).expect("it compresses");
    assert_eq!(segment::decode(&file).expect("it is a segment"), (header, body));
});
