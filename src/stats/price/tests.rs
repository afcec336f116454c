use super::*;

fn usage(model: &str, tokens: Tokens) -> ModelUsage {
    ModelUsage { model: Some(model.into()), tier: None, tokens }
}

const TIME: &str = "2026-11-20T13:49:00Z";
const MILLION: u64 = 1_000_000;

#[test]
fn the_table_is_sorted_dated_and_small() {
    assert!(BUILT_IN.len() <= 20 << 10, "{} bytes", BUILT_IN.len());
    let lines: Vec<&str> = BUILT_IN.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(lines.is_sorted() && lines.len() > 100);
    for line in &lines {
        let row = Row::parse(line).unwrap_or_else(|| panic!("{line}"));
        assert!(row.prices[2].is_none_or(|read| Some(read) <= row.prices[0]), "{line}");
        assert!(row.prices[3].is_none() || row.prices[4].is_none() || row.prices[4] >= row.prices[3], "{line}");
    }
    assert!(crate::git::date::Time::parse_rfc3339(&format!("{}T00:00:00Z", Prices::default().date())).is_some());
}

#[test]
fn a_name_that_is_too_long_for_a_model_has_no_price() {
    let prices = Prices::default().with("m\t-\t5\t25").expect("a table");
    assert!(prices.find(&format!("m{}", "-latest".repeat(3)), None, TIME).is_some());
    assert!(prices.find(&format!("m{}", "-latest".repeat(100_000)), None, TIME).is_none());
}

#[test]
fn each_kind_of_token_has_its_own_price() {
    let prices = Prices::default().with("m\t-\t5\t25\t0.5\t6.25\t10").expect("a table");
    let tokens = Tokens {
        input: 1000,
        output: 100,
        cache_read: 20_000,
        cache_write: 4000,
        cache_write_long: Some(3000),
        told_cost: None,
    };
    let cost = prices.cost(&usage("m", tokens), TIME, None);
    // 0.005 + 0.0025 + 0.01 + 0.00625 + 0.03
    assert_eq!((cost.exact().as_str(), cost.is_at_least), ("0.05375", false));
    assert_eq!(cost.rounded(), "0.05");
    let untold = prices.cost(&usage("m", Tokens { cache_write_long: None, ..tokens }), TIME, None);
    assert_eq!((untold.exact().as_str(), untold.is_at_least), ("0.0425", true), "nobody told how long");
}

#[test]
fn a_price_that_is_not_known_is_never_zero_and_never_that_of_a_neighbour() {
    let prices = Prices::default().with("a-1\t-\t5\t25\nb\t-\t1\t2").expect("a table");
    let tokens = Tokens { input: MILLION, output: MILLION, ..Tokens::default() };
    for model in ["a-1-8", "a-18", "a", "a-1-mini", ""] {
        let cost = prices.cost(&usage(model, tokens), TIME, None);
        assert!(cost.is_unknown(), "{model}: {}", cost.rounded());
    }
    let known = prices.cost(&usage("b", tokens), TIME, None);
    assert_eq!(known.plus(prices.cost(&usage("?", tokens), TIME, None)).rounded(), "at least 3.00");
    let read = prices.cost(&usage("b", Tokens { cache_read: 5, ..tokens }), TIME, None);
    assert_eq!(read.rounded(), "at least 3.00", "reading from the cache has no price here");
    let fast = ModelUsage { tier: Some("fast".into()), ..usage("b", tokens) };
    assert!(prices.cost(&fast, TIME, None).is_unknown());
}

#[test]
fn names_lose_dates_and_places_but_no_version() {
    let prices = Prices::default();
    let model = |name: &str| prices.find(name, None, TIME).map(|row| row.model.clone());
    for name in [
        "claude-opus-4-8",
        "anthropic/claude-opus-4-8",
        "openrouter/anthropic/claude-opus-4.8",
        "us.anthropic.claude-opus-4-8-20260401-v1:0",
        "claude-opus-4-8@20260401",
        "claude-opus-4-8[1m]",
        "Claude-Opus-4-8-latest",
        "claude-4.8-opus",
    ] {
        assert_eq!(model(name).as_deref(), Some("claude-opus-4-8"), "{name}");
    }
    assert_eq!(model("gpt-4o-2024-08-06").as_deref(), Some("gpt-4o"));
    assert_eq!(model("gpt-4o-2024-05-13").as_deref(), Some("gpt-4o-2024-05-13"), "it has prices of its own");
    assert_eq!(model("claude-opus-4-99"), None);
    assert_eq!(model("claude-opus-4-88"), None);
}

#[test]
fn a_record_is_priced_at_its_time() {
    let prices = Prices::default().with("m\t2026-03-01\t2\t2\nm\t2026-06-01\t1\t1").expect("a table");
    let at =
        |time: &str| prices.cost(&usage("m", Tokens { input: MILLION, ..Tokens::default() }), time, None).rounded();
    assert_eq!(at("2026-02-28T23:59:59Z"), "unknown", "nobody has told a price for the time before");
    assert_eq!(at("2026-05-31T23:59:59Z"), "2.00");
    assert_eq!(at("2026-06-01T00:00:00Z"), "1.00");
    assert_eq!(at(""), "1.00");
}

#[test]
fn long_input_costs_more_where_one_answer_has_it() {
    let prices = Prices::default().with("m\t-\t1\t1\t1\t-\t-\t200000\t2\t2\t2").expect("a table");
    let cost = |input: u64, cache_read: u64, is_answer: bool| {
        let tokens = Tokens { input, cache_read, ..Tokens::default() };
        prices.cost(&usage("m", tokens), TIME, is_answer.then(|| tokens.given()))
    };
    assert_eq!(cost(100_000, 100_000, true).exact(), "0.20");
    assert_eq!(cost(100_000, 100_001, true).exact(), "0.400002");
    assert_eq!(cost(100_000, 100_000, false), cost(100_000, 100_000, true), "no answer can have had more");
    assert_eq!(cost(MILLION, 0, false).rounded(), "at least 1.00");
}

#[test]
fn rows_of_the_user_stand_before_those_of_the_program() {
    let prices = Prices::default().with("claude-opus-4-8\t-\t0\t0\t0\t0\t0\nmine\t-\t1\t1\n").expect("a table");
    let tokens = Tokens { input: 1, cache_write: 1, ..Tokens::default() };
    let contract = prices.cost(&usage("anthropic/claude-opus-4-8-20260401", tokens), TIME, None);
    assert_eq!((contract.rounded().as_str(), contract.is_at_least), ("0.00", false));
    assert_eq!(prices.rows().iter().filter(|row| row.model == "claude-opus-4-8").count(), 1);
    let later = Prices::default()
        .with("claude-opus-4-8\t2026-11-21\t0\t0\nclaude-opus-4-8-20260401\t2027-01-01\t1\t1")
        .expect("it");
    let at = |time: &str| later.find("claude-opus-4-8-20260401", None, time).map(|row| row.line.clone());
    assert!(at(TIME).is_some_and(|line| line.contains("\t5\t25\t")), "the list price holds until the day");
    assert_eq!(at("2026-11-21T00:00:00Z").as_deref(), Some("claude-opus-4-8\t2026-11-21\t0\t0"));
    assert_eq!(Prices::default().with("# a head\n\nbroken line").err(), Some(3));
    let marked = Prices::default().with("\u{feff}mine\t-\t1\t1\n").expect("a table");
    assert!(marked.find("mine", None, TIME).is_some(), "a byte order mark is no part of a name");
}

#[test]
fn a_hostile_count_overflows_nothing() {
    let prices = Prices::default().with("m\t-\t999999\t999999\t1\t1\t1").expect("a table");
    let tokens = Tokens {
        input: u64::MAX,
        output: u64::MAX,
        cache_read: 1,
        cache_write: 1,
        cache_write_long: Some(9),
        told_cost: None,
    };
    let once = prices.cost(&usage("m", tokens), TIME, Some(tokens.given()));
    let many = (0..100).fold(once, |sum, _| sum.plus(sum));
    assert!(many.is_at_least && !many.rounded().is_empty() && many.amount() == u128::MAX);
}
