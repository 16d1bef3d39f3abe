//! Runs the suite on every store.

use toolcrib_store::{MemoryStore, SqliteSettings, SqliteStore};

use crate::suite;

fn small() -> SqliteSettings {
    SqliteSettings { max_result_bytes: 100, ..SqliteSettings::default() }
}

macro_rules! conformance {
    ($store:ident, $new:expr, $new_small:expr) => {
        mod $store {
            use super::*;

            conformance!(@ $new, definitions_come_back_as_they_were);
            conformance!(@ $new, definitions_are_replaced_and_forgotten);
            conformance!(@ $new, definitions_of_two_configurations_stand_side_by_side);
            conformance!(@ $new, eight_configurations_of_a_source_are_kept_those_saved_last);
            conformance!(@ $new, values_are_kept_per_namespace);
            conformance!(@ $new, a_namespace_has_a_quota_of_keys);
            conformance!(@ $new, keys_are_listed_in_order_by_prefix_and_page);
            conformance!(@ $new, a_result_is_read_by_its_scope_only);
            conformance!(@ $new, handles_are_long_plain_and_never_the_same);
            conformance!(@ $new, an_expired_result_is_gone);
            conformance!(@ $new, many_tasks_at_once_lose_nothing);
            conformance!(@ $new_small, the_oldest_results_make_room);
            conformance!(@ $new_small, expired_results_go_before_living_ones);
        }
    };
    (@ $new:expr, $test:ident) => {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $test() {
            let (store, _folder) = $new;
            suite::$test(store).await;
        }
    };
}

conformance!(memory, (MemoryStore::new(), ()), (MemoryStore::with_result_bytes(100), ()));
conformance!(
    sqlite_in_memory,
    (SqliteStore::open_in_memory().unwrap(), ()),
    (SqliteStore::open_in_memory_with(&small()).unwrap(), ())
);
conformance!(sqlite_file, in_file(&SqliteSettings::default()), in_file(&small()));

fn in_file(settings: &SqliteSettings) -> (SqliteStore, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let (store, warnings) = SqliteStore::open_with(folder.path().join("store.db"), settings).unwrap();
    assert_eq!(warnings, []);
    (store, folder)
}
