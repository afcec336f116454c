//! The commits whose records one record was joined from, by their trees.

/// How many trees one record, or all records of one note, may name: more than the commits of any squash. A line with more
/// would soon be too long for readers.
pub(super) const MAX_JOINED_TREES: usize = 1_024;

/// Returns the trees that a joined record names beside its own `tree`: those of both records and of the first one, but only the
/// smallest [`MAX_JOINED_TREES`]. The order of joining makes no difference.
pub(super) fn trees(both: [&[String]; 2], first: Option<&String>, tree: Option<&str>) -> Vec<String> {
    let mut trees = both.concat();
    trees.extend(first.cloned());
    trees.retain(|joined| Some(joined.as_str()) != tree);
    trees.sort();
    trees.dedup();
    trees.truncate(MAX_JOINED_TREES);
    trees
}

#[cfg(test)]
mod tests {
    use super::MAX_JOINED_TREES;
    use crate::record::note::tests::{note, record};
    use crate::record::{Note, Record};

    #[test]
    fn a_joined_record_names_the_trees_of_all_parts_in_any_order() {
        let of_tree = |tree: &str, record: Record| Record { tree: Some(tree.into()), ..record };
        // The last commit has the tree of the first one again, as after a revert.
        let parts = [
            of_tree("t1", record("s", None, "a", 10)),
            of_tree("t2", record("s", Some("a"), "b", 20)),
            of_tree("t3", record("s", Some("b"), "c", 30)),
            of_tree("t1", record("s", Some("c"), "d", 40)),
        ];
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [0, 2, 1, 3], [1, 0, 3, 2]] {
            let joined = Note::parse(&note(&order.map(|index| parts[index].clone())).to_bytes());
            let records: Vec<_> = joined.records().collect();
            assert_eq!((records.len(), records[0].tree.as_deref()), (1, Some("t1")), "{order:?}");
            assert_eq!(records[0].joined_trees, ["t2", "t3"], "{order:?}");
            assert_eq!(joined.trees(), ["t1", "t2", "t3"], "{order:?}");
        }
        let one_commit = [parts[0].clone(), of_tree("t1", record("s", None, "b", 12))];
        assert_eq!(note(&one_commit).trees(), ["t1"], "a record that was extended is the record of one commit");
    }

    #[test]
    fn a_record_with_more_trees_than_any_squash_is_no_record_and_none_is_written() {
        let with = |count: usize| {
            let joined_trees = (0..count).map(|number| format!("{number:040x}")).collect();
            Record { joined_trees, ..record("s", None, "a", 10) }
        };
        let (largest, larger) = (with(MAX_JOINED_TREES).to_line(), with(MAX_JOINED_TREES + 1).to_line());
        assert_eq!(Note::parse(largest.as_bytes()).records().count(), 1);
        let foreign = Note::parse(larger.as_bytes());
        assert_eq!((foreign.records().count(), foreign.trees()), (0, &[][..]));
        assert_eq!(foreign.to_bytes(), format!("{larger}\n").into_bytes(), "the line is kept unchanged");
        let other = Record {
            joined_trees: (0..10).map(|number| format!("f{number:039x}")).collect(),
            ..record("s", Some("a"), "b", 20)
        };
        for order in [[with(MAX_JOINED_TREES), other.clone()], [other, with(MAX_JOINED_TREES)]] {
            let joined = note(&order);
            let records: Vec<_> = joined.records().collect();
            assert_eq!(records.len(), 1);
            assert_eq!(records[0].joined_trees, with(MAX_JOINED_TREES).joined_trees);
            assert_eq!(joined.trees().len(), MAX_JOINED_TREES);
        }
    }

    #[test]
    fn a_copy_of_a_record_with_another_prompt_stays_beside_it() {
        let honest = Record { prompt: Some("honest".into()), ..record("s", None, "a", 10) };
        let summarised = Record { summary: Some("told".into()), prompt: None, ..honest.clone() };
        assert_eq!(note(&[honest.clone(), summarised]).records().count(), 1, "a purge can remove a prompt");
        let later = "2027-01-01T00:00:00Z".to_owned();
        for forged in [
            Record { prompt: Some("forged".into()), time: later.clone(), ..honest.clone() },
            Record { bytes: 11, time: later.clone(), ..honest.clone() },
            Record { sha256: "11".into(), time: later, ..honest.clone() },
        ] {
            for order in [[&honest, &forged], [&forged, &honest]] {
                let both = note(&order.map(Clone::clone));
                assert!(both.records().any(|record| *record == honest), "{forged:?}");
            }
        }
    }

    #[test]
    fn an_amended_commit_is_forgotten_and_the_others_stay() {
        let mut joined = note(&[
            Record { tree: Some("t1".into()), ..record("s", None, "a", 10) },
            Record { tree: Some("t2".into()), ..record("s", Some("a"), "b", 20) },
            Record { tree: Some("t3".into()), ..record("s", Some("b"), "c", 30) },
        ]);
        joined.forget_joined(&["t2".to_owned()]);
        let left = Note::parse(&joined.to_bytes());
        assert_eq!(left.trees(), ["t3", "t1"]);
    }
}
