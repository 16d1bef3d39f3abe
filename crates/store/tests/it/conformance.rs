//! Runs the suite on every store.

use toolcrib_engine::approval::MOST_GRANTS;
use toolcrib_store::{MemoryStore, SqliteSettings, SqliteStore};

use crate::suite;

fn small() -> SqliteSettings {
    SqliteSettings { max_result_bytes: 100, ..SqliteSettings::default() }
}

macro_rules! conformance {
    ($store:ident, $new:expr, $new_small:expr, $race:expr) => {
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
            conformance!(@ $new, approvals, a_request_comes_back_as_it_was_asked);
            conformance!(@ $new, approvals, the_same_question_stands_once);
            conformance!(@ $new, approvals, a_user_has_a_quota_of_open_questions);
            conformance!(@ $new, approvals, requests_are_listed_newest_first_by_tenant_and_state);
            conformance!(@ $new, approvals, an_answer_counts_once_and_in_time);
            conformance!(@ $new, approvals, an_answer_and_its_grant_are_kept_together_or_not_at_all);
            conformance!(@ $new, approvals, an_answer_and_its_evidence_are_one_step);
            conformance!(@ $new, approvals, a_grant_is_used_as_often_as_granted);
            conformance!(@ $new, approvals, grants_in_force_are_listed_with_the_uses_they_have_left);
            conformance!(@ $new, approvals, every_change_of_approvals_shows_in_the_version);
            conformance!(@ $new, approvals, old_requests_and_grants_are_dropped_open_ones_stay);
            conformance!(@ $new, experience, pairs_add_up_and_decay);
            conformance!(@ $new, experience, tenants_learn_apart_and_forget_apart);
            conformance!(@ $new, experience, the_weakest_pairs_make_room);
            conformance!(@ $new, vectors, vectors_come_back_by_encoder_and_key);
            conformance!(@ $new, vectors, what_was_not_used_for_longest_makes_room);
            conformance!(@ $new, journal, records_are_chained_in_the_order_of_their_writing);
            conformance!(@ $new, journal, several_records_are_appended_all_or_none);
            conformance!(@ $new, journal, an_intent_is_unfinished_until_its_outcome);
            conformance!(@ $new, journal, a_call_has_one_outcome);
            conformance!(@ $new, journal, a_runs_name_is_plain);
            conformance!(@ $new, journal, a_key_is_used_once);
            conformance!(@ $new, journal, an_expired_key_is_free_and_its_late_outcome_harms_nobody);
            conformance!(@ $new, journal, a_key_of_a_call_that_did_not_run_is_free_again);
            conformance!(@ $new, journal, a_key_learns_of_an_outcome_that_another_process_wrote);
            conformance!(@ $new, journal, a_result_too_large_to_keep_leaves_its_key);
            conformance!(@ $new, journal, the_oldest_results_of_keys_make_room);
            conformance!(@ $new, journal, records_are_found_by_every_filter);
            conformance!(@ $new, journal, a_list_has_an_end_whatever_was_asked_for);
            conformance!(@ $new, journal, old_records_are_dropped_from_the_front_and_the_chain_holds);
            conformance!(@ $new, journal, retention_takes_many_records);
            conformance!(@ $new, entries, an_entry_comes_back_as_it_was_written);
            conformance!(@ $new, entries, entries_are_apart_by_tenant_user_and_store);
            conformance!(@ $new, entries, an_entry_is_written_over_the_revision_that_was_meant);
            conformance!(@ $new, entries, a_shelf_has_a_quota_of_entries_and_of_bytes);
            conformance!(@ $new, entries, entries_are_listed_in_order_by_prefix_and_page);
            conformance!(@ $new, entries, entries_are_found_by_any_of_their_words);
            conformance!(@ $new, entries, a_search_gives_the_best_when_there_are_many);
            conformance!(@ $new, pending, a_piece_of_work_comes_back_as_it_was);
            conformance!(@ $new, pending, a_piece_is_settled_once_and_delivered_once);
            conformance!(@ $new, pending, what_comes_too_late_is_not_taken);
            conformance!(@ $new, pending, a_piece_is_found_by_what_the_outside_calls_it);
            conformance!(@ $new, pending, an_owner_has_a_quota_of_unfinished_work);
            conformance!(@ $new, pending, work_is_listed_oldest_first_by_owner_state_and_kind);
            conformance!(@ $new, pending, a_list_of_large_results_ends_early);
            conformance!(@ $new, pending, background_work_of_a_dead_process_is_lost);
            conformance!(@ $new, pending, finished_work_is_dropped_in_time);
            conformance!(@race $race, approvals, of_racing_answers_one_counts);
            conformance!(@race $race, approvals, racing_uses_of_a_grant_are_as_many_as_granted);
            conformance!(@race $race, journal, of_racing_recoveries_one_is_recorded);
            conformance!(@race $race, journal, racing_writers_make_one_chain_and_share_no_key);
            conformance!(@race $race, pending, racing_deliveries_are_one);
        }
    };
    (@ $new:expr, $test:ident) => {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $test() {
            let (store, _folder) = $new;
            suite::$test(store).await;
        }
    };
    (@ $new:expr, $subject:ident, $($test:ident),+ $(,)?) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $test() {
            let (store, _folder) = $new;
            suite::$subject::$test(store).await;
        }
    )+};
    (@race $race:expr, $subject:ident, $test:ident) => {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $test() {
            let (stores, _folder) = $race;
            suite::$subject::$test(&stores).await;
        }
    };
}

/// Long rows of writes: not with a disk under them.
mod long {
    use super::*;

    #[tokio::test]
    async fn one_owner_cannot_use_up_the_keys_of_all_in_memory() {
        suite::journal::one_owner_cannot_use_up_the_keys_of_all(MemoryStore::new()).await;
    }

    #[tokio::test]
    async fn one_owner_cannot_use_up_the_keys_of_all_in_sqlite() {
        suite::journal::one_owner_cannot_use_up_the_keys_of_all(SqliteStore::open_in_memory().unwrap()).await;
    }

    #[tokio::test]
    async fn more_grants_than_the_engine_holds_show() {
        suite::approvals::more_grants_than_the_engine_holds_show(SqliteStore::open_in_memory().unwrap()).await;
    }

    #[tokio::test]
    async fn a_refusal_is_never_crowded_out() {
        suite::approvals::a_refusal_is_never_crowded_out(MemoryStore::new(), 100).await;
        let store = SqliteStore::open_in_memory().unwrap();
        suite::approvals::a_refusal_is_never_crowded_out(store, MOST_GRANTS + 1).await;
    }
}

conformance!(memory, (MemoryStore::new(), ()), (MemoryStore::with_result_bytes(100), ()), ([MemoryStore::new()], ()));
conformance!(
    sqlite_in_memory,
    (SqliteStore::open_in_memory().unwrap(), ()),
    (SqliteStore::open_in_memory_with(&small()).unwrap(), ()),
    ([SqliteStore::open_in_memory().unwrap()], ())
);
conformance!(sqlite_file, in_file(&SqliteSettings::default()), in_file(&small()), in_file_twice());

fn in_file(settings: &SqliteSettings) -> (SqliteStore, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let (store, warnings) = SqliteStore::open_with(folder.path().join("store.db"), settings).unwrap();
    assert_eq!(warnings, []);
    (store, folder)
}

/// As two processes have it open.
fn in_file_twice() -> ([SqliteStore; 2], tempfile::TempDir) {
    let (one, folder) = in_file(&SqliteSettings::default());
    let (two, _) = SqliteStore::open(folder.path().join("store.db")).unwrap();
    ([one, two], folder)
}
